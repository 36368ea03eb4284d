import type { MailLinkView } from '../../presentation/mail-links.ts';
import { ApiProblem, callApi } from '../api.ts';
import { h } from '../dom.ts';
import { buildField, buildForm, buildPasswordField } from '../mail-links/form.ts';
import { forgetToken, readMailLink, takeToken } from '../mail-links/link.ts';
import {
  applyPageBranding,
  buildEmailParagraph,
  buildHiddenEmailField,
  buildParagraph,
  buildSignInGuide,
  showCard,
} from '../mail-links/page.ts';
import { LINK_TEXTS } from '../mail-links/texts.ts';
import { LOCALE } from '../texts.ts';

/** The texts of the page `/accept-invitation`, on which an invited person chooses a password. */
const TEXTS = LINK_TEXTS.invitation;
const TIME_FORMAT = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'long', timeStyle: 'short' });

function showForm(token: string, link: MailLinkView): void {
  const { email, company, name, sso_only: ssoOnly, expires_at: expiresAt } = link;
  const fields = [
    buildField('name', LINK_TEXTS.name, { autocomplete: 'name', required: true, maxlength: 200, value: name }),
    buildPasswordField(LINK_TEXTS.password),
  ] as const;
  const acceptInvitation = async () => {
    const [chosenName, password] = fields.map(({ input }) => input.value);
    try {
      await callApi('/v1/users/accept-invitation', { body: { token, name: chosenName, password } });
    } catch (error) {
      if (error instanceof ApiProblem && error.code === 'INVALID_INVITATION_TOKEN')
        return showRefusal(TEXTS.deadWhy, true);
      throw error;
    }
    showSuccess(link);
  };
  showCard(TEXTS.join(company.name), [
    buildEmailParagraph(email, (ssoOnly ? TEXTS.invitedWithSso : TEXTS.invited)(company.name, email)),
    buildForm(TEXTS.action, fields, acceptInvitation, buildHiddenEmailField(link)),
    expiresAt !== null && buildParagraph(TEXTS.goodUntil(TIME_FORMAT.format(new Date(expiresAt))), 'small'),
  ]);
  fields[1].input.focus();
}

function showSuccess(link: MailLinkView): void {
  forgetToken();
  const { company, require_2fa: require2fa, sso_only: ssoOnly } = link;
  showCard(
    TEXTS.done(company.name),
    [
      !ssoOnly && buildParagraph(TEXTS.doneText),
      require2fa && !ssoOnly && buildParagraph(LINK_TEXTS.secondFactor),
      ...buildSignInGuide(link),
    ],
    true,
  );
}

function showRefusal(reason: string, isResponse = false): void {
  forgetToken();
  // The address has no token any more, and may name a language.
  const resetLink = h('a', { href: `/reset-password${location.search}` }, LINK_TEXTS.reset.title);
  showCard(TEXTS.dead, [buildParagraph(reason), buildParagraph(TEXTS.deadWhatNow), resetLink], isResponse);
}

applyPageBranding();
const token = takeToken();
const link = readMailLink();
if (token && link) showForm(token, link);
else if (token !== undefined) showRefusal(token === null ? TEXTS.incomplete : TEXTS.deadWhy);
