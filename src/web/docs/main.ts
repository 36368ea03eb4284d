import 'swagger-ui-dist/swagger-ui.css';
import './docs.css';
import { h } from '../dom.ts';
import { GUIDES } from './guides.ts';
import { buildOverview } from './operation.ts';
import { type ApiDocument, extractOperation, listOperations, type Operation } from './reference.ts';
import { createSignInPanel } from './sign-in.ts';

const page = document.getElementById('page') as HTMLElement;

/** Reads the id of the guide or operation that the URL names. */
const readChosenId = (): string => decodeURIComponent(location.hash.slice(1)) || (GUIDES[0]?.id ?? '');

async function showDocs(): Promise<void> {
  const description: ApiDocument = await (await fetch('/openapi.json')).json();
  const operations = listOperations(description);
  const main = h('main', { tabindex: -1 });
  const search = h('input', {
    type: 'search',
    placeholder: 'Find by any word',
    'aria-label': 'Find an operation',
    oninput: filterEntries,
  });
  const account = createSignInPanel();
  const entries = operations.map((operation) => ({ operation, entry: buildEntry(operation) }));
  const sections = description['x-tagGroups'].map(({ name, description: about, tags }) => {
    const groups = tags.map((tag) => {
      const tagEntries = entries.filter(({ operation }) => operation.tag === tag);
      return h(
        'details',
        {},
        // The events are the one concept of theirs.
        h('summary', {}, tag === name ? 'Events' : tag.slice(name.length + 2)),
        h('ul', {}, ...tagEntries.map(({ entry }) => entry)),
      );
    });
    return h('section', {}, h('h2', { title: about }, name), ...groups);
  });
  const guidesSection = h('section', {}, h('h2', {}, 'Guides'), h('ul', {}, ...GUIDES.map(buildGuideEntry)));
  const noMatchNote = h('p', { role: 'status', hidden: true }, 'No operation has all of these words.');
  const nav = h(
    'nav',
    { 'aria-label': 'Operations' },
    h('h1', {}, description.info.title),
    search,
    account.element,
    noMatchNote,
    guidesSection,
    ...sections,
  );
  page.replaceChildren(nav, main);

  function filterEntries(): void {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { operation, entry } of entries)
      entry.hidden = !words.every((word) => operation.searchText.includes(word));
    for (const group of nav.querySelectorAll('details')) {
      group.hidden = group.querySelector('li:not([hidden])') === null;
      group.open = words.length > 0 && !group.hidden;
    }
    for (const section of sections) section.hidden = section.querySelector('details:not([hidden])') === null;
    guidesSection.hidden = words.length > 0;
    noMatchNote.hidden = entries.some(({ entry }) => !entry.hidden);
  }

  async function showChosen(): Promise<void> {
    const name = readChosenId();
    const guide = GUIDES.find(({ id }) => id === name);
    const operation = operations.find(({ id }) => id === name);
    for (const link of nav.querySelectorAll('a')) {
      const isChosenLink = link.hash.slice(1) === name;
      link.toggleAttribute('aria-current', isChosenLink);
      if (isChosenLink) link.closest('details')?.setAttribute('open', '');
    }
    if (guide) {
      const text = h('article', {});
      // Made of our own files when the page was built.
      text.innerHTML = guide.html;
      main.replaceChildren(text);
    } else if (operation) {
      main.replaceChildren(...buildOverview(operation), ...(operation.isEvent ? [] : [buildTryPanel(operation)]));
    } else main.replaceChildren(h('p', { role: 'status' }, 'There is no such operation.'));
    main.scrollTop = 0;
  }

  /**
   * Builds a panel with all fields and responses, and a form that makes the request. Swagger UI is loaded on demand, as it takes
   * longer than everything else.
   */
  function buildTryPanel(operation: Operation): HTMLElement {
    const reader = h('div', {});
    const loadSwagger = async () => {
      const { default: SwaggerUi } = await import('swagger-ui-dist/swagger-ui-es-bundle.js');
      SwaggerUi({
        spec: extractOperation(description, operation),
        domNode: reader,
        docExpansion: 'full',
        defaultModelsExpandDepth: -1,
        displayRequestDuration: true,
        tryItOutEnabled: true,
        // The validator's badge would come from a foreign host.
        validatorUrl: null,
        // Colours of examples cost more than all the rest.
        syntaxHighlight: false,
        requestInterceptor: account.authorize,
      });
    };
    const details = h('details', { class: 'try' }, h('summary', {}, 'Try it, with all fields and answers'), reader);
    details.addEventListener('toggle', () => void loadSwagger(), { once: true });
    return details;
  }

  addEventListener('hashchange', () => void showChosen());
  await showChosen();
}

const buildEntry = ({ id, method, path, summary }: Operation): HTMLLIElement =>
  h(
    'li',
    {},
    h(
      'a',
      { href: `#${id}`, title: `${method} ${path}` },
      h('span', { class: `method ${method.toLowerCase()}` }, method),
      ` ${summary}`,
    ),
  );

const buildGuideEntry = ({ id, title }: { id: string; title: string }): HTMLLIElement =>
  h('li', {}, h('a', { href: `#${id}` }, title));

const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', darkScheme.matches);
darkScheme.addEventListener('change', followScheme);
followScheme();

showDocs().catch(() => {
  page.replaceChildren(
    h('p', { role: 'alert' }, 'The description of the API could not be loaded. Load this page again.'),
  );
});
