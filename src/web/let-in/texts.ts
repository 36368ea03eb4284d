import type { LetInTexts } from '../../texts/let-in/en.ts';
import type { Locale } from '../../texts/locales.ts';
import { LOCALE } from '../texts.ts';

/** Loads the texts of a language: only one of them is loaded, and by this page alone. */
const LANGUAGES: Record<Locale, () => Promise<{ texts: LetInTexts }>> = {
  en: () => import('../../texts/let-in/en.ts'),
  'pt-BR': () => import('../../texts/let-in/pt-BR.ts'),
  es: () => import('../../texts/let-in/es.ts'),
};

/** The texts of the OAuth authorization page, in addition to the texts that all pages share. */
export const AUTHORIZATION_TEXTS: LetInTexts = (await LANGUAGES[LOCALE]()).texts;
