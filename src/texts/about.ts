import type { Locale } from './locales.ts';

/** The texts of the page at the root URL. */
interface AboutTexts {
  text: string;
  version: (version: string) => string;
  /** The name of each linked page, and a description of its content. */
  pages: Record<'docs' | 'openapi' | 'health', [name: string, holds: string]>;
}

export const ABOUT_TEXTS: Readonly<Record<Locale, AboutTexts>> = {
  en: {
    text: 'Tables, dashboards and knowledge of companies, and who may see them: by one API.',
    version: (version) => `Version ${version}`,
    pages: {
      docs: ['Documentation', 'Every route, with examples and guides'],
      openapi: ['OpenAPI', 'The same for programs and generators'],
      health: ['Health', 'Whether all of it works right now'],
    },
  },
  'pt-BR': {
    text: 'Tabelas, painéis e conhecimento das empresas, e quem pode vê-los: em uma só API.',
    version: (version) => `Versão ${version}`,
    pages: {
      docs: ['Documentação', 'Todas as rotas, com exemplos e guias'],
      openapi: ['OpenAPI', 'O mesmo para programas e geradores'],
      health: ['Estado', 'Se tudo está funcionando agora'],
    },
  },
  es: {
    text: 'Tablas, paneles y conocimiento de las empresas, y quién puede verlos: en una sola API.',
    version: (version) => `Versión ${version}`,
    pages: {
      docs: ['Documentación', 'Todas las rutas, con ejemplos y guías'],
      openapi: ['OpenAPI', 'Lo mismo para programas y generadores'],
      health: ['Estado', 'Si todo funciona en este momento'],
    },
  },
};
