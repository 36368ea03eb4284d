/** The bundler collects imported styles in a file of their own. */
declare module '*.css';

declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  /** Shows an OpenAPI document. Options: https://swagger.io/docs/open-source-tools/swagger-ui/usage/configuration/ */
  export default function SwaggerUi(options: Record<string, unknown>): void;
}

/** A text of `docs`, as HTML: see `build.ts`. */
declare module '*.md' {
  const html: string;
  export default html;
}
