import type { AuthorizationView } from '../../presentation/authorization.ts';
import { ApiProblem } from '../api.ts';
import { h } from '../dom.ts';
import { buildField, buildForm } from '../mail-links/form.ts';
import { buildParagraph, showCard } from '../mail-links/page.ts';
import { TEXTS } from '../texts.ts';
import { callWithTexts, type SignedInUser, type SignInResult } from './api.ts';
import { AUTHORIZATION_TEXTS } from './texts.ts';

type Company = NonNullable<AuthorizationView['company']>;
type SignInCallback = (signedInUser: SignedInUser) => void;

/** The session storage key of the sign-in that is pending while the browser is at the identity provider. */
const STORAGE_KEY = 'authorization';

interface StoredSignIn {
  /** The address of the page at which the sign-in continues. */
  address: string;
  /** The secret that is sent with the single sign-on code to exchange it for a session. */
  secret?: string;
  /** The company's slug, and the `state` and `nonce` that must come with a social provider's ID token. */
  social?: { slug: string; state: string; nonce: string };
  /** The result of the sign-in at the provider. */
  result?: SignInResult | { failed: true };
}

const buildButton = (text: string, onClick: () => void, type = 'quiet'): HTMLElement =>
  h('button', { type: 'button', class: type, onclick: onClick }, text);

const CODE_ATTRIBUTES = { autocomplete: 'one-time-code', required: true, spellcheck: 'false', autocapitalize: 'off' };

/** Asks for the company, and then loads the page with the sign-in methods of that company. */
export function askForCompany(title: string): void {
  const field = buildField('slug', AUTHORIZATION_TEXTS.company, {
    autocomplete: 'organization',
    required: true,
    spellcheck: 'false',
    autocapitalize: 'off',
  });
  const submitCompany = async () => {
    const slug = field.input.value.trim().toLowerCase();
    const { exists } = await callWithTexts<{ exists: boolean }>(
      `/v1/auth/validate-company?${new URLSearchParams({ slug })}`,
    );
    if (!exists) {
      field.showProblem(AUTHORIZATION_TEXTS.noSuchCompany);
      field.input.focus();
      return;
    }
    loadCompanyPage(slug);
  };
  showCard(title, [
    buildParagraph(AUTHORIZATION_TEXTS.companyAsked),
    buildForm(AUTHORIZATION_TEXTS.next, [field], submitCompany),
  ]);
  field.input.focus();
}

function loadCompanyPage(slug: string | null): void {
  const url = new URL(location.href);
  if (slug === null) url.searchParams.delete('company_slug');
  else url.searchParams.set('company_slug', slug);
  location.assign(url);
}

/** Shows the sign-in form with every method that the company offers; calls `onSignedIn` once the user is signed in. */
export function showSignIn(company: Company, onSignedIn: SignInCallback, isOwner = false): void {
  if (company.sso_only && !isOwner) {
    showCard(AUTHORIZATION_TEXTS.signIn(company.name), [
      buildParagraph(AUTHORIZATION_TEXTS.ssoOnly),
      ...buildSsoForm(company, 'primary'),
      buildButton(AUTHORIZATION_TEXTS.passwordInstead, () => showSignIn(company, onSignedIn, true)),
      buildOtherCompanyButton(),
    ]);
    return;
  }
  const email = buildField('email', TEXTS.email, { type: 'email', autocomplete: 'username', required: true });
  const password = buildField('password', AUTHORIZATION_TEXTS.password, {
    type: 'password',
    autocomplete: 'current-password',
    required: true,
  });
  const readIdentity = () => ({ company_slug: company.slug, email: email.input.value.trim() });
  const signInByPassword = async () =>
    continueSignIn(
      await callWithTexts('/v1/auth/login', { body: { ...readIdentity(), password: password.input.value } }),
      onSignedIn,
    );
  const requestMailCode = async () => {
    await callWithTexts('/v1/auth/passwordless/request', { body: readIdentity() });
    askForCode(readIdentity(), onSignedIn);
  };
  const form = buildForm(AUTHORIZATION_TEXTS.signInAction, [email, password], signInByPassword);
  const mailCodeForm = buildOneButtonForm(AUTHORIZATION_TEXTS.mailCode, requestMailCode);
  const requireEmail = (event: Event) => {
    if (email.input.value.trim() !== '') return;
    event.preventDefault();
    event.stopImmediatePropagation();
    email.input.focus();
    email.showProblem(TEXTS.failures.VALIDATION_ERROR);
  };
  mailCodeForm.addEventListener('submit', requireEmail, { capture: true });
  showCard(AUTHORIZATION_TEXTS.signIn(company.name), [
    form,
    h('h2', { class: 'small' }, AUTHORIZATION_TEXTS.otherWays),
    ...buildPasskeyForm(company, onSignedIn),
    mailCodeForm,
    ...buildSsoForm(company, ''),
    ...buildSocialForms(company),
    buildOtherCompanyButton(),
  ]);
  email.input.focus();
}

const buildOtherCompanyButton = (): HTMLElement =>
  buildButton(AUTHORIZATION_TEXTS.anotherCompany, () => loadCompanyPage(null));

function buildSsoForm(company: Company, type: string): HTMLElement[] {
  if (!company.sso) return [];
  const redirectToProvider = async () => {
    const returnUrl = `${location.origin}/oauth/signed-in`;
    const ssoRequest = await callWithTexts<{ url: string; exchange_secret: string }>(
      `/v1/auth/sso/${encodeURIComponent(company.slug)}/start?${new URLSearchParams({ redirect_uri: returnUrl })}`,
    );
    storeSignIn({ address: location.href, secret: ssoRequest.exchange_secret });
    location.assign(ssoRequest.url);
  };
  return [
    type === ''
      ? buildOneButtonForm(AUTHORIZATION_TEXTS.sso, redirectToProvider)
      : buildForm(AUTHORIZATION_TEXTS.sso, [], redirectToProvider),
  ];
}

/** Builds a form that consists of one button, which is not the page's main one. */
export function buildOneButtonForm(action: string, onSubmit: () => Promise<void>): HTMLFormElement {
  const form = buildForm(action, [], onSubmit);
  form.querySelector('button')?.classList.remove('primary');
  return form;
}

/**
 * Builds the form to sign in by passkey, if the browser supports passkeys and the company's passkeys are for this page's domain.
 */
function buildPasskeyForm({ slug, passkey_domain: domain }: Company, onSignedIn: SignInCallback): HTMLElement[] {
  const { hostname } = location;
  const isPasskeyDomain = domain !== null && (hostname === domain || hostname.endsWith(`.${domain}`));
  if (!isPasskeyDomain || !('parseRequestOptionsFromJSON' in (globalThis.PublicKeyCredential ?? {}))) return [];
  const signInByPasskey = async () => {
    const options = await callWithTexts<PublicKeyCredentialRequestOptionsJSON>(
      '/v1/auth/passkeys/authentication-options',
      {
        body: { company_slug: slug },
      },
    );
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    // Somebody thought better of it, or has none: browsers do not say which.
    const credential = await navigator.credentials.get({ publicKey }).catch(() => null);
    if (credential === null) throw new ApiProblem(0, 'NO_PASSKEY', AUTHORIZATION_TEXTS.noPasskey);
    const response = (credential as PublicKeyCredential).toJSON();
    await continueSignIn(
      await callWithTexts('/v1/auth/passkeys/verify', { body: { company_slug: slug, response } }),
      onSignedIn,
    );
  };
  return [buildOneButtonForm(AUTHORIZATION_TEXTS.passkey, signInByPasskey)];
}

/** Names of token issuers whose provider is known by a name other than its host name. */
const ISSUER_NAMES: Readonly<Record<string, string>> = {
  'accounts.google.com': 'Google',
  'appleid.apple.com': 'Apple',
  'login.microsoftonline.com': 'Microsoft',
};

/** Builds a sign-in form for each social provider whose ID tokens the company accepts. */
function buildSocialForms({ slug, social }: Company): HTMLElement[] {
  return social.map((issuer) => {
    const { host } = new URL(issuer);
    return buildOneButtonForm(AUTHORIZATION_TEXTS.social(ISSUER_NAMES[host] ?? host), async () => {
      const { url, ...expected } = await callWithTexts<{ url: string; state: string; nonce: string }>(
        `/v1/auth/social/${encodeURIComponent(slug)}/start?${new URLSearchParams({ issuer })}`,
      );
      storeSignIn({ address: location.href, social: { slug, ...expected } });
      location.assign(url);
    });
  });
}

/** Stores the pending sign-in in this tab. @throws ApiProblem where the browser blocks the storage of sites */
function storeSignIn(pendingSignIn: StoredSignIn): void {
  try {
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify(pendingSignIn));
  } catch {
    throw new ApiProblem(0, 'STORAGE_BLOCKED', AUTHORIZATION_TEXTS.storageBlocked);
  }
}

/** Returns the pending sign-in stored in this tab, and deletes it; null also where the browser blocks the storage of sites. */
function takeStoredSignIn(): StoredSignIn | null {
  try {
    const pendingSignIn = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null') as StoredSignIn | null;
    sessionStorage.removeItem(STORAGE_KEY);
    return pendingSignIn;
  } catch {
    return null;
  }
}

/** Runs on the page to which the identity provider redirects: completes the sign-in, then loads the page that continues. */
export async function returnFromProvider(): Promise<void> {
  const pendingSignIn = takeStoredSignIn();
  if (!pendingSignIn)
    return showCard(AUTHORIZATION_TEXTS.badTitle, [buildParagraph(AUTHORIZATION_TEXTS.nothing)], true);
  const result = await exchangeRedirect(pendingSignIn).catch(() => ({ failed: true }) as const);
  storeSignIn({ address: pendingSignIn.address, result });
  location.replace(pendingSignIn.address);
}

/** Signs in with the values in the provider's redirect. @throws if they do not belong to this tab's request */
async function exchangeRedirect({ secret, social }: StoredSignIn): Promise<SignInResult> {
  if (social)
    return callWithTexts('/v1/auth/social', { body: { company_slug: social.slug, social_token: readIdToken(social) } });
  const code = new URLSearchParams(location.search).get('code');
  return callWithTexts('/v1/auth/sso/exchange', { body: { code, exchange_secret: secret } });
}

/** Returns the ID token in the address; the API verifies its issuer. @throws for a `state` or `nonce` of another request */
function readIdToken({ state, nonce }: NonNullable<StoredSignIn['social']>): string {
  const redirectParameters = new URLSearchParams(location.hash.slice(1));
  const token = redirectParameters.get('id_token') ?? '';
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const claims = JSON.parse(atob(payload)) as { nonce?: unknown };
  if (redirectParameters.get('state') !== state || claims.nonce !== nonce)
    throw new Error('The answer is not to this sign-in.');
  return token;
}

/** Continues a sign-in that has just returned from a provider. @returns whether there was such a sign-in */
export function continueAfterProvider(onSignedIn: SignInCallback): boolean {
  const pendingSignIn = takeStoredSignIn();
  if (pendingSignIn?.result === undefined || pendingSignIn.address !== location.href) return false;
  const showFailure = () => {
    const retryButton = buildButton(AUTHORIZATION_TEXTS.next, () => location.reload(), 'primary');
    showCard(AUTHORIZATION_TEXTS.badTitle, [buildParagraph(AUTHORIZATION_TEXTS.ssoFailed), retryButton], true);
  };
  if ('failed' in pendingSignIn.result) showFailure();
  else continueSignIn(pendingSignIn.result, onSignedIn).catch(showFailure);
  return true;
}

function askForCode(identity: { company_slug: string; email: string }, onSignedIn: SignInCallback): void {
  const field = buildField('code', AUTHORIZATION_TEXTS.code, { ...CODE_ATTRIBUTES, inputmode: 'numeric' });
  const verifyCode = async () =>
    continueSignIn(
      await callWithTexts('/v1/auth/passwordless/verify', { body: { ...identity, code: field.input.value } }),
      onSignedIn,
    );
  showCard(AUTHORIZATION_TEXTS.codeTitle, [
    buildParagraph(AUTHORIZATION_TEXTS.codeSent(identity.email)),
    buildForm(AUTHORIZATION_TEXTS.signInAction, [field], verifyCode),
  ]);
  field.input.focus();
}

/** Continues after the first factor: asks for the second factor, has it set up, or completes the sign-in. */
async function continueSignIn(result: SignInResult, onSignedIn: SignInCallback): Promise<void> {
  const { token, user, pending_2fa_token: pendingToken } = result;
  if (token !== undefined && user) onSignedIn({ token, email: user.email });
  else if (pendingToken === undefined) askForPasskey();
  else if (result.requires_2fa_setup) await setUpSecondFactor(pendingToken, onSignedIn);
  else askForSecondFactor(pendingToken, onSignedIn);
}

/** Asks a user whose second factor is a passkey to start over: the passkey alone signs them in. */
function askForPasskey(): void {
  const restartButton = buildButton(AUTHORIZATION_TEXTS.next, () => location.reload(), 'primary');
  showCard(AUTHORIZATION_TEXTS.factorTitle, [buildParagraph(AUTHORIZATION_TEXTS.passkeyAsked), restartButton], true);
}

function askForSecondFactor(pendingToken: string, onSignedIn: SignInCallback): void {
  const field = buildField('code', AUTHORIZATION_TEXTS.code, CODE_ATTRIBUTES);
  const submitFactor = async () => {
    const code = field.input.value.trim();
    const fieldName = /^[\d\s-]+$/.test(code) && code.replaceAll(/\D/g, '').length === 6 ? 'totp_token' : 'backup_code';
    await continueSignIn(
      await callWithTexts('/v1/auth/2fa/login', { body: { pending_2fa_token: pendingToken, [fieldName]: code } }),
      onSignedIn,
    );
  };
  showCard(AUTHORIZATION_TEXTS.factorTitle, [
    buildParagraph(AUTHORIZATION_TEXTS.factorAsked),
    buildForm(AUTHORIZATION_TEXTS.next, [field], submitFactor),
  ]);
  field.input.focus();
}

async function setUpSecondFactor(pendingToken: string, onSignedIn: SignInCallback): Promise<void> {
  const body = { pending_2fa_token: pendingToken };
  const newFactor = await callWithTexts<{ secret: string; otpauth_url: string }>('/v1/auth/2fa/setup', { body });
  const field = buildField('code', AUTHORIZATION_TEXTS.code, { ...CODE_ATTRIBUTES, inputmode: 'numeric' });
  const enableFactor = async () => {
    const enableBody = { ...body, totp_token: field.input.value };
    const result = await callWithTexts<SignInResult & { backup_codes: string[] }>('/v1/auth/2fa/enable', {
      body: enableBody,
    });
    showCard(
      AUTHORIZATION_TEXTS.backupTitle,
      [
        buildParagraph(AUTHORIZATION_TEXTS.backupText),
        h('ul', {}, ...result.backup_codes.map((code) => h('li', {}, h('code', {}, code)))),
        buildButton(AUTHORIZATION_TEXTS.next, () => continueSignIn(result, onSignedIn), 'primary'),
      ],
      true,
    );
  };
  showCard(AUTHORIZATION_TEXTS.setupTitle, [
    buildParagraph(AUTHORIZATION_TEXTS.setupAsked),
    h('dl', {}, h('dt', {}, AUTHORIZATION_TEXTS.setupKey), h('dd', {}, h('code', {}, newFactor.secret))),
    h('a', { href: newFactor.otpauth_url }, AUTHORIZATION_TEXTS.setupLink),
    buildForm(AUTHORIZATION_TEXTS.next, [field], enableFactor),
  ]);
  field.input.focus();
}
