const embed = document.querySelector('data-console-embed');
const chosen = document.getElementById('chosen');

embed.addEventListener('data-console:click', ({ detail: { visualization, values } }) => {
  chosen.textContent = `${visualization.name}: ${JSON.stringify(values)}`;
});
