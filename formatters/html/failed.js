function failed(error) {
  document.getElementById('main').textContent = 'This page needs a browser of 2023 or later. ' + error;
}
