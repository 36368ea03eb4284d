import type { Locale } from '../locales.ts';
import { texts as en, type LetInTexts } from './en.ts';
import { texts as es } from './es.ts';
import { texts as ptBr } from './pt-BR.ts';

export type { LetInTexts };

/** The texts of this page in each language. The page itself loads its own only. */
export const LET_IN_TEXTS: Readonly<Record<Locale, LetInTexts>> = { en, 'pt-BR': ptBr, es };
