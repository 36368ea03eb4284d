import type { Locale } from '../../texts/locales.ts';
import type { MailLinkTexts } from '../../texts/mail-links/en.ts';
import { LOCALE } from '../texts.ts';

/** Loads the texts of a language: only one of them is loaded, and by these pages alone. */
const LANGUAGES: Record<Locale, () => Promise<{ texts: MailLinkTexts }>> = {
  en: () => import('../../texts/mail-links/en.ts'),
  'pt-BR': () => import('../../texts/mail-links/pt-BR.ts'),
  es: () => import('../../texts/mail-links/es.ts'),
};

/** The texts of the pages that mailed links open, in addition to the texts that all pages share. */
export const LINK_TEXTS: MailLinkTexts = (await LANGUAGES[LOCALE]()).texts;
