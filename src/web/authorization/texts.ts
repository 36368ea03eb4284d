import type { AuthorizationTexts } from '../../texts/authorization/en.ts';
import type { Locale } from '../../texts/locales.ts';
import { LOCALE } from '../texts.ts';

/** Functions that load the texts of a language. Only one language is loaded, and only by this page. */
const TEXT_LOADERS: Record<Locale, () => Promise<{ texts: AuthorizationTexts }>> = {
  en: () => import('../../texts/authorization/en.ts'),
  'pt-BR': () => import('../../texts/authorization/pt-BR.ts'),
  es: () => import('../../texts/authorization/es.ts'),
};

/** The texts of the OAuth authorization page, in addition to the texts that all pages share. */
export const AUTHORIZATION_TEXTS: AuthorizationTexts = (await TEXT_LOADERS[LOCALE]()).texts;
