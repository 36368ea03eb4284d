import '../styles/main.css';
import type { SharedItemView } from '../../presentation/viewing.ts';
import { ApiProblem } from '../api.ts';
import { applyBranding, brandingOfPage, buildLogo } from '../branding/apply.ts';
import { buildItemPage } from '../dashboard/page.ts';
import { h } from '../dom.ts';
import { connectHost, sendHeight } from '../embedding.ts';
import { loadingPage, messagePage, problemPanel } from '../panel.ts';
import { createPublicShareSource, createTokenSource, type Opened, type Source, withoutOptions } from '../source.ts';
import { TEXTS } from '../texts.ts';
import { followScheme, setScheme } from '../theme.ts';
import type { ParameterValues } from '../values.ts';
import { createEmbedAccess } from './access.ts';

/** The page of `/embed/d/{token}`, `/embed/v/{token}` and `/p/{token}`. */
const page = document.getElementById('page') as HTMLElement;
const query = new URLSearchParams(location.search);
/** Inside another page, which has its own name and logo. An embed that is opened by itself is a page like others. */
const isEmbedded = location.pathname.startsWith('/embed/') && parent !== window;
if (isEmbedded) document.documentElement.dataset.embedded = '';

const host = connectHost();

applyBranding(brandingOfPage());

async function open(source: Source): Promise<void> {
  page.replaceChildren(loadingPage());
  try {
    const opened = await source.open();
    if (opened.kind === 'sign_in') return askToSignIn(opened.companySlug, buildLogo(brandingOfPage()));
    show(source, opened);
  } catch (error) {
    const problem = error instanceof ApiProblem ? error : undefined;
    showProblem(problem, () => void open(source));
    if (!problem) throw error;
  }
}

function show(source: Source, { item, options, branding }: Opened & { kind: 'item' }): void {
  applyBranding(branding);
  document.title = branding.name === undefined ? item.name : `${item.name} – ${branding.name}`;
  let values: ParameterValues = {};
  host?.on('parameters', ({ parameters }) => {
    values = { ...values, ...Object(parameters) };
  });
  host?.allowOrigin(options.allowed_origins ?? []);
  const view = buildItemPage(
    item,
    options,
    source,
    { query, values },
    {
      onChange(next, parameters) {
        for (const [name, value] of pageParameters(item)) next.set(name, value);
        history.replaceState(null, '', next.size > 0 ? `?${next}` : location.pathname);
        host?.send('parameters', { parameters });
      },
      onReady: (parameters) => host?.send('ready', { name: item.name, parameters }),
      onEnd(problem) {
        host?.on('parameters', () => undefined);
        showProblem(problem, () => undefined);
      },
      onFailure: reportProblem,
      onChoose: host && ((point) => host.send('click', point)),
    },
  );
  const logo = isEmbedded || options.hide_header ? undefined : buildLogo(branding);
  page.replaceChildren(...(logo ? [h('header', { class: 'brand' }, logo)] : []), view.element);
  host?.on('parameters', ({ parameters }) => view.setParameters(Object(parameters) as ParameterValues));
  host?.on('theme', ({ theme }) => {
    setScheme(theme);
    view.repaint();
  });
  followScheme(view.repaint);
}

/** Replaces the page by the reason why it cannot be shown. */
function showProblem(problem: ApiProblem | undefined, retry: () => void): void {
  reportProblem(problem);
  page.replaceChildren(messagePage(TEXTS.unavailable, problemPanel(problem, retry)));
}

const reportProblem = (problem: ApiProblem | undefined) => host?.sendError(problem?.code ?? 'UNKNOWN');

/** The parameters of the address that are about the page itself, unless a filter has that name. */
const pageParameters = ({ filters }: SharedItemView): [name: string, value: string][] =>
  ['theme', 'locale'].flatMap((name): [string, string][] => {
    const value = query.get(name);
    return value === null || filters.some(({ slug }) => slug === name) ? [] : [[name, value]];
  });

/** Asks to sign in to the portal, for a share that only members of its context may see. */
function askToSignIn(companySlug: string, logo: HTMLElement | undefined): void {
  const locale = query.get('locale');
  const portal = `/portal/${encodeURIComponent(companySlug)}${locale === null ? '' : `?${new URLSearchParams({ locale })}`}`;
  page.replaceChildren(
    ...(logo ? [h('header', { class: 'brand' }, logo)] : []),
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
  if (way === 'p') return createPublicShareSource(token);
  const notice = h('p', { class: 'late', role: 'status' });
  page.before(notice);
  const onLate = (isLate: boolean) => {
    notice.textContent = isLate ? TEXTS.renewing : '';
  };
  if (way === 'embed/d') return createTokenSource(createEmbedAccess('d', token, host, onLate));
  return withoutOptions(createTokenSource(createEmbedAccess('v', token, host, onLate)));
}

sendHeight();
const source = sourceOfPage();
if (source) void open(source);
else page.replaceChildren(messagePage(TEXTS.unavailable, h('p', {}, TEXTS.notFound)));
