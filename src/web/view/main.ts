import '../styles/main.css';
import type { SharedItemView } from '../../kernel/viewing.ts';
import { ApiProblem } from '../api.ts';
import { brandingOfPage, markOf, wear } from '../branding/wear.ts';
import { subjectPage } from '../dashboard/page.ts';
import { h } from '../dom.ts';
import { connectHost, tellHeight } from '../embedding.ts';
import { loadingPage, messagePage, problemPanel } from '../panel.ts';
import { type Opened, publicShare, type Source, sourceBehind, withoutOptions } from '../source.ts';
import { TEXTS } from '../texts.ts';
import { followScheme, setScheme } from '../theme.ts';
import type { ParameterValues } from '../values.ts';
import { embedAccess } from './access.ts';

/** The page of `/embed/d/{token}`, `/embed/v/{token}` and `/p/{token}`. */
const page = document.getElementById('page') as HTMLElement;
const query = new URLSearchParams(location.search);
/** Within a page of somebody else, which has a name and a logo of its own. Opened by itself an embed is a page like others. */
const isEmbedded = location.pathname.startsWith('/embed/') && parent !== window;
if (isEmbedded) document.documentElement.dataset.embedded = '';

const host = connectHost();

wear(brandingOfPage());

async function open(source: Source): Promise<void> {
  page.replaceChildren(loadingPage());
  try {
    const opened = await source.open();
    if (opened.kind === 'sign_in') return askToSignIn(opened.companySlug, markOf(brandingOfPage()));
    show(source, opened);
  } catch (error) {
    const problem = error instanceof ApiProblem ? error : undefined;
    complain(problem, () => void open(source));
    if (!problem) throw error;
  }
}

function show(source: Source, { subject, options, branding }: Opened & { kind: 'subject' }): void {
  wear(branding);
  document.title = branding.name === undefined ? subject.name : `${subject.name} – ${branding.name}`;
  let values: ParameterValues = {};
  host?.on('parameters', ({ parameters }) => {
    values = { ...values, ...Object(parameters) };
  });
  host?.allow(options.allowed_origins ?? []);
  const shown = subjectPage(
    subject,
    options,
    source,
    { query, values },
    {
      changed(next, parameters) {
        for (const [name, value] of aboutPage(subject)) next.set(name, value);
        history.replaceState(null, '', next.size > 0 ? `?${next}` : location.pathname);
        host?.tell('parameters', { parameters });
      },
      ready: (parameters) => host?.tell('ready', { name: subject.name, parameters }),
      ended(problem) {
        host?.on('parameters', () => undefined);
        complain(problem, () => undefined);
      },
      failed: tellFailure,
      chosen: host && ((point) => host.tell('click', point)),
    },
  );
  const mark = isEmbedded || options.hide_header ? undefined : markOf(branding);
  page.replaceChildren(...(mark ? [h('header', { class: 'brand' }, mark)] : []), shown.element);
  host?.on('parameters', ({ parameters }) => shown.setParameters(Object(parameters) as ParameterValues));
  host?.on('theme', ({ theme }) => {
    setScheme(theme);
    shown.repaint();
  });
  followScheme(shown.repaint);
}

/** Shows nothing but why there is nothing to see. */
function complain(problem: ApiProblem | undefined, retry: () => void): void {
  tellFailure(problem);
  page.replaceChildren(messagePage(TEXTS.unavailable, problemPanel(problem, retry)));
}

const tellFailure = (problem: ApiProblem | undefined) => host?.complain(problem?.code ?? 'UNKNOWN');

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

/** The source for the path of this page. */
function sourceOfPage(): Source | undefined {
  const [, way, token] = /^\/(embed\/d|embed\/v|p)\/([^/]+)$/.exec(location.pathname) ?? [];
  if (token === undefined) return undefined;
  if (way === 'p') return publicShare(token);
  const notice = h('p', { class: 'late', role: 'status' });
  page.before(notice);
  const late = (isLate: boolean) => {
    notice.textContent = isLate ? TEXTS.renewing : '';
  };
  if (way === 'embed/d') return sourceBehind(embedAccess('d', token, host, late));
  return withoutOptions(sourceBehind(embedAccess('v', token, host, late)));
}

tellHeight();
const source = sourceOfPage();
if (source) void open(source);
else page.replaceChildren(messagePage(TEXTS.unavailable, h('p', {}, TEXTS.notFound)));
