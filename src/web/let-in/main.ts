import type { AskedView, LetInView } from '../../presentation/letting-in.ts';
import { h } from '../dom.ts';
import { buildField, buildForm } from '../mail-links/form.ts';
import { applyPageBranding, paragraph, showCard } from '../mail-links/page.ts';
import { ask, type SignedIn } from './api.ts';
import { askForCompany, continueAfterProvider, returnFromProvider, signIn } from './sign-in.ts';
import { AUTHORIZATION_TEXTS } from './texts.ts';

/** The page of `/oauth/authorize` and `/oauth/device`: the user signs in, and grants or denies a client's request. */
const view = JSON.parse(document.getElementById('told')?.textContent ?? 'null') as LetInView;

function askForDevice(signedIn: SignedIn): void {
  const field = buildField('user_code', AUTHORIZATION_TEXTS.deviceCode, {
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
    autocapitalize: 'characters',
    value: view.user_code ?? '',
  });
  const find = async () =>
    askForConsent(
      await ask<AskedView>('/v1/oauth-devices', { body: { user_code: field.input.value }, token: signedIn.token }),
      signedIn,
    );
  showCard(AUTHORIZATION_TEXTS.deviceTitle, [
    paragraph(AUTHORIZATION_TEXTS.deviceAsked),
    buildForm(AUTHORIZATION_TEXTS.next, [field], find),
  ]);
  field.input.focus();
}

function askForConsent(asked: AskedView, { token, email }: SignedIn): void {
  const { client, scopes, only_reads: onlyReads, resource, request } = asked;
  const company = view.company?.name ?? '';
  const answer = (allow: boolean) => async () => {
    const { redirect_to: redirectTo } = await ask<{ redirect_to: string | null }>('/v1/oauth-grants', {
      body: { request, allow },
      token,
    });
    // The session was for this answer alone. The page may be gone before that is answered.
    await ask('/v1/auth/logout', { body: {}, token }).catch(() => {});
    const [title, text] = allow
      ? [AUTHORIZATION_TEXTS.doneTitle, AUTHORIZATION_TEXTS.done]
      : [AUTHORIZATION_TEXTS.deniedTitle, AUTHORIZATION_TEXTS.denied];
    showCard(title, [paragraph(redirectTo === null ? text : AUTHORIZATION_TEXTS.going)], true);
    if (redirectTo !== null) location.replace(redirectTo);
  };
  const refuse = buildForm(AUTHORIZATION_TEXTS.deny, [], answer(false));
  refuse.querySelector('button')?.classList.remove('primary');
  showCard(
    AUTHORIZATION_TEXTS.consentTitle(client.name),
    [
      paragraph(AUTHORIZATION_TEXTS.signedInAs(email, company)),
      client.is_registered
        ? paragraph(AUTHORIZATION_TEXTS.registered(company))
        : paragraph(client.host === null ? AUTHORIZATION_TEXTS.unknownHost : AUTHORIZATION_TEXTS.fromHost(client.host)),
      !client.is_registered && h('p', { class: 'warning', role: 'note' }, AUTHORIZATION_TEXTS.warning),
      paragraph(AUTHORIZATION_TEXTS.may),
      h('ul', { class: 'scopes' }, ...scopes.map((scope) => h('li', {}, h('code', {}, scope)))),
      paragraph(
        [
          onlyReads ? AUTHORIZATION_TEXTS.onlyReads : AUTHORIZATION_TEXTS.changes,
          resource === 'mcp' ? AUTHORIZATION_TEXTS.tools : '',
        ]
          .join(' ')
          .trim(),
      ),
      paragraph(AUTHORIZATION_TEXTS.howLong, 'small'),
      buildForm(AUTHORIZATION_TEXTS.allow, [], answer(true)),
      refuse,
    ],
    true,
  );
}

const continueWith = (signedIn: SignedIn): void => {
  if (view.asked) askForConsent(view.asked, signedIn);
  else askForDevice(signedIn);
};

function begin(): void {
  const title = view.asked ? AUTHORIZATION_TEXTS.wants(view.asked.client.name) : AUTHORIZATION_TEXTS.deviceTitle;
  if (view.problem !== null) {
    const why = view.problem === 'client' ? AUTHORIZATION_TEXTS.badClient : AUTHORIZATION_TEXTS.badRedirect;
    showCard(AUTHORIZATION_TEXTS.badTitle, [paragraph(why), paragraph(AUTHORIZATION_TEXTS.nothing)], true);
  } else if (view.company === null) askForCompany(title);
  else if (!continueAfterProvider(continueWith)) signIn(view.company, continueWith);
}

applyPageBranding();
if (location.pathname.endsWith('/signed-in')) void returnFromProvider();
else begin();
