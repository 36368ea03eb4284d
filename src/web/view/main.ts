import '../styles/main.css';
import type { SharedItemView } from '../../presentation/viewing.ts';
import { ApiProblem } from '../api.ts';
import { applyBranding, buildLogo, readPageBranding } from '../branding/apply.ts';
import { buildItemPage } from '../dashboard/page.ts';
import { h } from '../dom.ts';
import { connectHost, sendHeight } from '../embedding.ts';
import { buildLoadingPage, buildMessagePage, buildProblemPanel } from '../panel.ts';
import { createPublicShareSource, createTokenSource, type OpenedPage, rejectOptions, type Source } from '../source.ts';
import { TEXTS } from '../texts.ts';
import { followScheme, setScheme } from '../theme.ts';
import type { ParameterValues } from '../values.ts';
import { createEmbedAccess } from './access.ts';

/** This module is the script of `/embed/d/{token}`, `/embed/v/{token}` and `/p/{token}`. */
const page = document.getElementById('page') as HTMLElement;
const query = new URLSearchParams(location.search);
/** True inside a host page, which has its own name and logo. An embed that is opened by itself is shown like a full page. */
const isEmbedded = location.pathname.startsWith('/embed/') && parent !== window;
if (isEmbedded) document.documentElement.dataset.embedded = '';

const host = connectHost();

applyBranding(readPageBranding());

async function showSource(source: Source): Promise<void> {
  page.replaceChildren(buildLoadingPage());
  try {
    const openedPage = await source.loadPage();
    if (openedPage.kind === 'sign_in') return askToSignIn(openedPage.companySlug, buildLogo(readPageBranding()));
    showItem(source, openedPage);
  } catch (error) {
    const problem = error instanceof ApiProblem ? error : undefined;
    showProblem(problem, () => void showSource(source));
    if (!problem) throw error;
  }
}

function showItem(source: Source, { item, options, branding }: OpenedPage & { kind: 'item' }): void {
  applyBranding(branding);
  document.title = branding.name === undefined ? item.name : `${item.name} – ${branding.name}`;
  let values: ParameterValues = {};
  host?.on('parameters', ({ parameters }) => {
    values = { ...values, ...Object(parameters) };
  });
  host?.on('theme', ({ theme }) => setScheme(theme));
  // Passes on what the host page has said while this page was loading.
  host?.allowOrigin(options.allowed_origins ?? []);
  const view = buildItemPage(
    item,
    options,
    source,
    { query, values },
    {
      onChange(newQuery, parameters) {
        for (const [name, value] of listPageParameters(item)) newQuery.set(name, value);
        history.replaceState(null, '', newQuery.size > 0 ? `?${newQuery}` : location.pathname);
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

/** Shows a message in place of the page's content: the reason why the content cannot be shown. */
function showProblem(problem: ApiProblem | undefined, retry: () => void): void {
  reportProblem(problem);
  page.replaceChildren(buildMessagePage(TEXTS.unavailable, buildProblemPanel(problem, retry)));
}

const reportProblem = (problem: ApiProblem | undefined) => host?.sendError(problem?.code ?? 'UNKNOWN');

/** Returns the address parameters that are about the page itself, except for names that a filter has. */
const listPageParameters = ({ filters }: SharedItemView): [name: string, value: string][] =>
  ['theme', 'locale'].flatMap((name): [string, string][] => {
    const value = query.get(name);
    return value === null || filters.some(({ slug }) => slug === name) ? [] : [[name, value]];
  });

/** Shows a link to sign in to the portal, for a share that only members of its context may see. */
function askToSignIn(companySlug: string, logo: HTMLElement | undefined): void {
  const locale = query.get('locale');
  const portalPath = `/portal/${encodeURIComponent(companySlug)}${locale === null ? '' : `?${new URLSearchParams({ locale })}`}`;
  page.replaceChildren(
    ...(logo ? [h('header', { class: 'brand' }, logo)] : []),
    buildMessagePage(
      TEXTS.signInTitle,
      h('p', {}, TEXTS.signInFirst),
      h('a', { class: 'button', href: portalPath, target: '_top' }, TEXTS.signIn),
    ),
  );
}

/** Creates the data source for the path of this page. */
function createSourceFromPath(): Source | undefined {
  const [, way, token] = /^\/(embed\/d|embed\/v|p)\/([^/]+)$/.exec(location.pathname) ?? [];
  if (token === undefined) return undefined;
  if (way === 'p') return createPublicShareSource(token);
  const delayNotice = h('p', { class: 'late', role: 'status' });
  page.before(delayNotice);
  const showDelayNotice = (isDelayed: boolean) => {
    delayNotice.textContent = isDelayed ? TEXTS.renewing : '';
  };
  if (way === 'embed/d') return createTokenSource(createEmbedAccess('d', token, host, showDelayNotice));
  return rejectOptions(createTokenSource(createEmbedAccess('v', token, host, showDelayNotice)));
}

sendHeight();
const source = createSourceFromPath();
if (source) void showSource(source);
else page.replaceChildren(buildMessagePage(TEXTS.unavailable, h('p', {}, TEXTS.notFound)));
