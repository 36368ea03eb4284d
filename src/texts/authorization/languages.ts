import type { Locale } from '../locales.ts';
import { type AuthorizationTexts, texts as en } from './en.ts';
import { texts as es } from './es.ts';
import { texts as ptBr } from './pt-BR.ts';

export type { AuthorizationTexts };

/** The texts of the authorization page in each language. The page itself loads only its own language. */
export const AUTHORIZATION_TEXTS: Readonly<Record<Locale, AuthorizationTexts>> = { en, 'pt-BR': ptBr, es };
