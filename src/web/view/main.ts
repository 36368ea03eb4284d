import '../styles/main.css';
import type { SharedItemView } from '../../kernel/viewing.ts';
import { ApiProblem } from '../api.ts';
import { brandingOfPage, markOf, wear } from '../branding/wear.ts';
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
/** Within a page of somebody else, which has a name and a logo of its own. */
const isEmbedded = location.pathname.startsWith('/embed/');
if (isEmbedded) document.documentElement.dataset.embedded = '';

wear(brandingOfPage());

async function open(source: Source): Promise<void> {
  page.replaceChildren(loadingPage());
  try {
    const opened = await source.open();
    if (opened.kind === 'sign_in') return askToSignIn(opened.companySlug, markOf(brandingOfPage()));
    const { subject, options, branding } = opened;
    wear(branding);
    document.title = branding.name === undefined ? subject.name : `${subject.name} – ${branding.name}`;
    const shown = subjectPage(subject, options, source, query, (next) => {
      for (const [name, value] of aboutPage(subject)) next.set(name, value);
      history.replaceState(null, '', next.size > 0 ? `?${next}` : location.pathname);
    });
    const mark = isEmbedded || options.hide_header ? undefined : markOf(branding);
    page.replaceChildren(...(mark ? [h('header', { class: 'brand' }, mark)] : []), shown.element);
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
function askToSignIn(companySlug: string, mark: HTMLElement | undefined): void {
  const locale = query.get('locale');
  const portal = `/portal/${encodeURIComponent(companySlug)}${locale === null ? '' : `?${new URLSearchParams({ locale })}`}`;
  page.replaceChildren(
    ...(mark ? [h('header', { class: 'brand' }, mark)] : []),
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
