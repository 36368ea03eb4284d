import type { Locale } from '../../texts/locales.ts';
import type { MailLinkTexts } from '../../texts/mail-links/en.ts';
import { LOCALE } from '../texts.ts';

/** Functions that load the texts of a language. Only one language is loaded, and only by these pages. */
const TEXT_LOADERS: Record<Locale, () => Promise<{ texts: MailLinkTexts }>> = {
  en: () => import('../../texts/mail-links/en.ts'),
  'pt-BR': () => import('../../texts/mail-links/pt-BR.ts'),
  es: () => import('../../texts/mail-links/es.ts'),
};

/** The texts of the pages that mailed links open, in addition to the texts that all pages share. */
export const LINK_TEXTS: MailLinkTexts = (await TEXT_LOADERS[LOCALE]()).texts;
