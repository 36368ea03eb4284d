import '../styles/main.css';
import type { SharedItemView } from '../../kernel/viewing.ts';
import { ApiProblem } from '../api.ts';
import { subjectPage } from '../dashboard/page.ts';
import { h } from '../dom.ts';
import { takeParameters, tellHeight } from '../embedding.ts';
import { loadingPage, messagePage, problemPanel } from '../panel.ts';
import { type Source, sourceOfPath } from '../source.ts';
import { TEXTS } from '../texts.ts';
import { followScheme } from '../theme.ts';

/** The page of `/embed/d/{token}`, `/embed/v/{token}` and `/p/{token}`. */
const page = document.getElementById('page') as HTMLElement;
const query = new URLSearchParams(location.search);
if (location.pathname.startsWith('/embed/')) document.documentElement.dataset.embedded = '';

async function open(source: Source): Promise<void> {
  page.replaceChildren(loadingPage());
  try {
    const opened = await source.open();
    if (opened.kind === 'sign_in') return askToSignIn(opened.companySlug);
    const { subject, options } = opened;
    document.title = subject.name;
    const shown = subjectPage(subject, options, source, query, (next) => {
      for (const [name, value] of aboutPage(subject)) next.set(name, value);
      history.replaceState(null, '', next.size > 0 ? `?${next}` : location.pathname);
    });
    page.replaceChildren(shown.element);
    takeParameters(options.allowed_origins ?? [], shown.setParameters);
    followScheme(shown.repaint);
  } catch (error) {
    const problem = error instanceof ApiProblem ? error : undefined;
    page.replaceChildren(
      messagePage(
        TEXTS.unavailable,
        problemPanel(problem, () => void open(source)),
      ),
    );
    if (!problem) throw error;
  }
}

/** What the address says of the page itself, unless a filter has that name. */
const aboutPage = ({ filters }: SharedItemView): [name: string, value: string][] =>
  ['theme', 'locale'].flatMap((name): [string, string][] => {
    const value = query.get(name);
    return value === null || filters.some(({ slug }) => slug === name) ? [] : [[name, value]];
  });

/** Asks to sign in to the portal, for a share that only members of its context may see. */
function askToSignIn(companySlug: string): void {
  const locale = query.get('locale');
  const portal = `/portal/${encodeURIComponent(companySlug)}${locale === null ? '' : `?${new URLSearchParams({ locale })}`}`;
  page.replaceChildren(
    messagePage(
      TEXTS.signInTitle,
      h('p', {}, TEXTS.signInFirst),
      h('a', { class: 'button', href: portal, target: '_top' }, TEXTS.signIn),
    ),
  );
}

tellHeight();
const source = sourceOfPath(location.pathname);
if (source) void open(source);
else page.replaceChildren(messagePage(TEXTS.unavailable, h('p', {}, TEXTS.notFound)));
