import type { Locale } from '../locales.ts';
import { texts as en, type MailTexts } from './en.ts';
import { texts as es } from './es.ts';
import { texts as ptBr } from './pt-BR.ts';

export type { MailTexts };

/** The texts of the mails in each language. */
export const MAIL_TEXTS: Readonly<Record<Locale, MailTexts>> = { en, 'pt-BR': ptBr, es };
