import 'swagger-ui-dist/swagger-ui.css';
import './docs.css';
import SwaggerUi from 'swagger-ui-dist/swagger-ui-es-bundle.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followScheme);
followScheme();

/** The description of the API, grouped by surface. */
SwaggerUi({
  url: '/openapi.json',
  dom_id: '#page',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // The validator's badge would come from a foreign host.
  validatorUrl: null,
});
