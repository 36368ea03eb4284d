import '../styles/main.css';
import type { ViewBranding } from '../../presentation/viewing.ts';
import { ApiProblem } from '../api.ts';
import { applyBranding, buildLogo, readPageBranding } from '../branding/apply.ts';
import { buildItemPage, type ItemPage } from '../dashboard/page.ts';
import { h } from '../dom.ts';
import { buildLoadingPage, buildMessagePage, buildProblemPanel } from '../panel.ts';
import { TEXTS } from '../texts.ts';
import { followScheme } from '../theme.ts';
import { type DashboardLocation, formatAddress, parseAddress } from './address.ts';
import { buildListPage } from './list.ts';
import { restoreSession, type Session } from './session.ts';
import { buildSignInPage } from './sign-in.ts';
import { createPortalSource } from './source.ts';

/**
 * This module is the script of `/portal/{company_slug}`: the viewer signs in with a mailed code, then chooses a shared
 * dashboard.
 */
const page = document.getElementById('page') as HTMLElement;
const branding = readPageBranding();
applyBranding(branding);
const companySlug = decodeURIComponent(location.pathname.split('/')[2] ?? '');
let session: Session | undefined;
let currentPage: ItemPage | undefined;
/** Counts navigations: a response that arrives after a further navigation is dropped. */
let navigationCount = 0;

/**
 * Returns the company's brand, always with a name: before sign-in it is the slug in the address, even if no such company exists.
 */
const getBrand = (): ViewBranding => ({ name: session?.company ?? companySlug, ...branding });

function setSession(newSession: Session | undefined): void {
  session = newSession;
  if (newSession) newSession.onEnded = () => askToSignIn(TEXTS.sessionEnded);
}

function askToSignIn(reason: string): void {
  navigationCount++;
  currentPage?.end();
  setSession(undefined);
  page.replaceChildren(
    buildSignInPage(companySlug, reason, buildLogo(getBrand()), (newSession) => {
      setSession(newSession);
      void showAddress();
    }),
  );
}

/** Shows the page for the current address, or the sign-in page if there is no session. */
async function showAddress(): Promise<void> {
  const navigationNumber = ++navigationCount;
  currentPage?.end();
  currentPage = undefined;
  document.title = `${TEXTS.sharedDashboards} – ${getBrand().name}`;
  if (!session) return askToSignIn('');
  const dashboardLocation = parseAddress(location.hash);
  page.replaceChildren(buildBanner(session, dashboardLocation), buildLoadingPage());
  try {
    const main = dashboardLocation
      ? await buildDashboard(session, dashboardLocation, navigationNumber)
      : await buildListPage(session, companySlug);
    if (main && navigationNumber === navigationCount)
      page.replaceChildren(buildBanner(session, dashboardLocation), main);
  } catch (error) {
    if (navigationNumber !== navigationCount) return;
    const problem = error instanceof ApiProblem ? error : undefined;
    page.replaceChildren(
      buildBanner(session, dashboardLocation),
      buildMessagePage(
        TEXTS.unavailable,
        buildProblemPanel(problem, () => void showAddress()),
      ),
    );
    if (!problem) throw error;
  }
}

/** Loads a dashboard and builds its page; undefined if a further navigation comes before the dashboard is loaded. */
async function buildDashboard(
  viewerSession: Session,
  dashboardLocation: DashboardLocation,
  navigationNumber: number,
): Promise<HTMLElement | undefined> {
  const source = createPortalSource(viewerSession, dashboardLocation.id, dashboardLocation.contextId);
  const openedItem = await source.loadPage();
  if (navigationNumber !== navigationCount) return undefined;
  if (openedItem.kind !== 'item') throw new Error('The portal gave no dashboard.');
  document.title = `${openedItem.item.name} – ${getBrand().name}`;
  currentPage = buildItemPage(openedItem.item, openedItem.options, source, dashboardLocation, {
    onChange: (query) => history.replaceState(null, '', formatAddress({ ...dashboardLocation, query })),
  });
  return currentPage.element;
}

/** Builds the header: a link to the list, the viewer's email address, and a button to sign out. */
function buildBanner(viewerSession: Session, dashboardLocation: DashboardLocation | undefined): HTMLElement {
  const signOutUser = async () => {
    await viewerSession.signOut();
    history.replaceState(null, '', location.pathname);
    askToSignIn('');
  };
  return h(
    'header',
    { class: 'banner' },
    buildLogo(getBrand()),
    dashboardLocation ? h('a', { href: '#' }, `← ${TEXTS.allDashboards}`) : h('span', {}),
    h('span', { class: 'who' }, viewerSession.email),
    h('button', { type: 'button', class: 'quiet', onclick: () => void signOutUser() }, TEXTS.signOut),
  );
}

addEventListener('hashchange', () => void showAddress());
setSession(restoreSession(companySlug));
followScheme(() => currentPage?.repaint());
void showAddress();
