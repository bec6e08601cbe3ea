// Controls without a name for a screen reader.
return [...document.querySelectorAll('button, a, input, [role=grid], [role=tree], svg[tabindex], svg [tabindex]')]
  .filter(one => one.checkVisibility() && !(one.getAttribute('aria-label') || one.textContent.trim()))
  .map(one => one.outerHTML.slice(0, 80));
