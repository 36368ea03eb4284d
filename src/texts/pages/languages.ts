import type { Locale } from '../locales.ts';
import { texts as en, type PageTexts } from './en.ts';
import { texts as es } from './es.ts';
import { texts as ptBr } from './pt-BR.ts';

export type { PageTexts };

/** The texts of the pages in each language. A page itself loads only its own language. */
export const PAGE_TEXTS: Readonly<Record<Locale, PageTexts>> = { en, 'pt-BR': ptBr, es };
