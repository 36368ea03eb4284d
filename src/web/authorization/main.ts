import type { AuthorizationRequestView, AuthorizationView } from '../../presentation/authorization.ts';
import { h } from '../dom.ts';
import { buildField, buildForm } from '../mail-links/form.ts';
import { applyPageBranding, buildParagraph, showCard } from '../mail-links/page.ts';
import { callWithTexts, type SignedInUser } from './api.ts';
import { askForCompany, buildOneButtonForm, continueAfterProvider, returnFromProvider, showSignIn } from './sign-in.ts';
import { AUTHORIZATION_TEXTS } from './texts.ts';

/**
 * This module is the script of the page of `/oauth/authorize` and `/oauth/device`: the user signs in, and grants or
 * denies a client's request.
 */
const pageView = JSON.parse(document.getElementById('told')?.textContent ?? 'null') as AuthorizationView;

function askForDeviceCode(signedInUser: SignedInUser): void {
  const field = buildField('user_code', AUTHORIZATION_TEXTS.deviceCode, {
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
    autocapitalize: 'characters',
    value: pageView.user_code ?? '',
  });
  const findRequest = async () =>
    askForConsent(
      await callWithTexts<AuthorizationRequestView>('/v1/oauth-devices', {
        body: { user_code: field.input.value },
        token: signedInUser.token,
      }),
      signedInUser,
    );
  showCard(AUTHORIZATION_TEXTS.deviceTitle, [
    buildParagraph(AUTHORIZATION_TEXTS.deviceAsked),
    buildForm(AUTHORIZATION_TEXTS.next, [field], findRequest),
  ]);
  field.input.focus();
}

function askForConsent(authorizationRequest: AuthorizationRequestView, { token, email }: SignedInUser): void {
  const { client, scopes, only_reads: isReadOnly, resource, request } = authorizationRequest;
  const company = pageView.company?.name ?? '';
  const sendDecision = (isAllowed: boolean) => async () => {
    const { redirect_to: redirectTo } = await callWithTexts<{ redirect_to: string | null }>('/v1/oauth-grants', {
      body: { request, allow: isAllowed },
      token,
    });
    // The session was for this answer alone. The page may be gone before that is answered.
    await callWithTexts('/v1/auth/logout', { body: {}, token }).catch(() => {});
    const [title, text] = isAllowed
      ? [AUTHORIZATION_TEXTS.doneTitle, AUTHORIZATION_TEXTS.done]
      : [AUTHORIZATION_TEXTS.deniedTitle, AUTHORIZATION_TEXTS.denied];
    showCard(title, [buildParagraph(redirectTo === null ? text : AUTHORIZATION_TEXTS.going)], true);
    if (redirectTo !== null) location.replace(redirectTo);
  };
  showCard(
    AUTHORIZATION_TEXTS.consentTitle(client.name),
    [
      buildParagraph(AUTHORIZATION_TEXTS.signedInAs(email, company)),
      client.is_registered
        ? buildParagraph(AUTHORIZATION_TEXTS.registered(company))
        : buildParagraph(
            client.host === null ? AUTHORIZATION_TEXTS.unknownHost : AUTHORIZATION_TEXTS.fromHost(client.host),
          ),
      !client.is_registered && h('p', { class: 'warning', role: 'note' }, AUTHORIZATION_TEXTS.warning),
      buildParagraph(AUTHORIZATION_TEXTS.may),
      h('ul', { class: 'scopes' }, ...scopes.map((scope) => h('li', {}, h('code', {}, scope)))),
      buildParagraph(
        [
          isReadOnly ? AUTHORIZATION_TEXTS.onlyReads : AUTHORIZATION_TEXTS.changes,
          resource === 'mcp' ? AUTHORIZATION_TEXTS.tools : '',
        ]
          .join(' ')
          .trim(),
      ),
      buildParagraph(AUTHORIZATION_TEXTS.howLong, 'small'),
      buildForm(AUTHORIZATION_TEXTS.allow, [], sendDecision(true)),
      buildOneButtonForm(AUTHORIZATION_TEXTS.deny, sendDecision(false)),
    ],
    true,
  );
}

const continueAfterSignIn = (signedInUser: SignedInUser): void => {
  if (pageView.asked) askForConsent(pageView.asked, signedInUser);
  else askForDeviceCode(signedInUser);
};

function showFirstStep(): void {
  const title = pageView.asked
    ? AUTHORIZATION_TEXTS.wants(pageView.asked.client.name)
    : AUTHORIZATION_TEXTS.deviceTitle;
  if (pageView.problem !== null) {
    const problemText = pageView.problem === 'client' ? AUTHORIZATION_TEXTS.badClient : AUTHORIZATION_TEXTS.badRedirect;
    showCard(
      AUTHORIZATION_TEXTS.badTitle,
      [buildParagraph(problemText), buildParagraph(AUTHORIZATION_TEXTS.nothing)],
      true,
    );
  } else if (pageView.company === null) askForCompany(title);
  else if (!continueAfterProvider(continueAfterSignIn)) showSignIn(pageView.company, continueAfterSignIn);
}

applyPageBranding();
if (location.pathname.endsWith('/signed-in')) void returnFromProvider();
else showFirstStep();
