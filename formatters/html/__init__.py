"""The report: messages and calls as one page of HTML, with its own styles and scripts."""
