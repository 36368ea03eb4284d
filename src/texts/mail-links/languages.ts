import type { Locale } from '../locales.ts';
import { texts as en, type MailLinkTexts } from './en.ts';
import { texts as es } from './es.ts';
import { texts as ptBr } from './pt-BR.ts';

export type { MailLinkTexts };

/** The texts of these pages in each language. A page itself loads only its own language. */
export const MAIL_LINK_TEXTS: Readonly<Record<Locale, MailLinkTexts>> = { en, 'pt-BR': ptBr, es };
