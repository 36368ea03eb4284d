import '../styles/main.css';
import type { ViewBranding } from '../../presentation/viewing.ts';
import { ApiProblem } from '../api.ts';
import { applyBranding, brandingOfPage, buildLogo } from '../branding/apply.ts';
import { buildItemPage, type ItemPage } from '../dashboard/page.ts';
import { h } from '../dom.ts';
import { loadingPage, messagePage, problemPanel } from '../panel.ts';
import { TEXTS } from '../texts.ts';
import { followScheme } from '../theme.ts';
import { formatAddress, type Place, parsePlace } from './address.ts';
import { listPage } from './list.ts';
import { restoreSession, type Session } from './session.ts';
import { signInPage } from './sign-in.ts';
import { createPortalSource } from './source.ts';

/** The page of `/portal/{company_slug}`: the viewer signs in with a mailed code, then chooses a shared dashboard. */
const page = document.getElementById('page') as HTMLElement;
const branding = brandingOfPage();
applyBranding(branding);
const companySlug = decodeURIComponent(location.pathname.split('/')[2] ?? '');
let session: Session | undefined;
let open: ItemPage | undefined;
/** Counts navigations: an answer that arrives after a further navigation is dropped. */
let navigation = 0;

/** The company's brand, always with a name: before sign-in it is the slug in the address, even if no such company exists. */
const brandNow = (): ViewBranding => ({ name: session?.company ?? companySlug, ...branding });

function setSession(next: Session | undefined): void {
  session = next;
  if (next) next.onEnded = () => askToSignIn(TEXTS.sessionEnded);
}

function askToSignIn(reason: string): void {
  navigation++;
  open?.end();
  setSession(undefined);
  page.replaceChildren(
    signInPage(companySlug, reason, buildLogo(brandNow()), (signedIn) => {
      setSession(signedIn);
      void show();
    }),
  );
}

/** Shows the page of the address, or the sign-in page without a session. */
async function show(): Promise<void> {
  const own = ++navigation;
  open?.end();
  open = undefined;
  document.title = `${TEXTS.sharedDashboards} – ${brandNow().name}`;
  if (!session) return askToSignIn('');
  const place = parsePlace(location.hash);
  page.replaceChildren(buildBanner(session, place), loadingPage());
  try {
    const main = place ? await buildDashboard(session, place) : await listPage(session, companySlug);
    if (own === navigation) page.replaceChildren(buildBanner(session, place), main);
  } catch (error) {
    if (own !== navigation) return;
    const problem = error instanceof ApiProblem ? error : undefined;
    page.replaceChildren(
      buildBanner(session, place),
      messagePage(
        TEXTS.unavailable,
        problemPanel(problem, () => void show()),
      ),
    );
    if (!problem) throw error;
  }
}

async function buildDashboard(signedIn: Session, place: Place): Promise<HTMLElement> {
  const source = createPortalSource(signedIn, place.id, place.contextId);
  const opened = await source.open();
  if (opened.kind !== 'item') throw new Error('The portal gave no dashboard.');
  document.title = `${opened.item.name} – ${brandNow().name}`;
  open = buildItemPage(opened.item, opened.options, source, place, {
    onChange: (query) => history.replaceState(null, '', formatAddress({ ...place, query })),
  });
  return open.element;
}

/** The header: a link to the list, the viewer's address, and a button to sign out. */
function buildBanner(signedIn: Session, place: Place | undefined): HTMLElement {
  const leave = async () => {
    await signedIn.signOut();
    history.replaceState(null, '', location.pathname);
    askToSignIn('');
  };
  return h(
    'header',
    { class: 'banner' },
    buildLogo(brandNow()),
    place ? h('a', { href: '#' }, `← ${TEXTS.allDashboards}`) : h('span', {}),
    h('span', { class: 'who' }, signedIn.email),
    h('button', { type: 'button', class: 'quiet', onclick: () => void leave() }, TEXTS.signOut),
  );
}

addEventListener('hashchange', () => void show());
setSession(restoreSession(companySlug));
followScheme(() => open?.repaint());
void show();
