/** The texts of the element itself; all else is said by the page that it shows. */
const TEXTS = {
  en: {
    dashboard: 'Dashboard',
    retrying: 'This cannot be shown at the moment. Trying again …',
    refused: 'You have no access to this.',
    notShown: 'This cannot be shown here.',
  },
  pt: {
    dashboard: 'Painel',
    retrying: 'Isto não pode ser exibido no momento. Tentando novamente…',
    refused: 'Você não tem acesso a isto.',
    notShown: 'Isto não pode ser exibido aqui.',
  },
  es: {
    dashboard: 'Panel',
    retrying: 'Esto no se puede mostrar en este momento. Intentando de nuevo…',
    refused: 'No tienes acceso a esto.',
    notShown: 'Esto no se puede mostrar aquí.',
  },
};

/** The texts in the language of the element, else of the page, else of the browser, else in English. @param {string} locale */
export function textsFor(locale) {
  const languages = [locale, ...(globalThis.navigator?.languages ?? [])].map((each) => each.slice(0, 2).toLowerCase());
  const [language = 'en'] = languages.filter((each) => Object.hasOwn(TEXTS, each));
  return TEXTS[/** @type {keyof typeof TEXTS} */ (language)];
}

export { TEXTS };
