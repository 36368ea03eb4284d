import { formatFailure } from '../api.ts';
import { createUniqueId, h } from '../dom.ts';
import { TEXTS } from '../texts.ts';
import { requestCode, type Session, signIn } from './session.ts';

/** Builds a form for an email address, then for the mailed code. @param reason why to sign in again; empty the first time */
export function buildSignInPage(
  companySlug: string,
  reason: string,
  logo: HTMLElement | undefined,
  onSignedIn: (session: Session) => void,
): HTMLElement {
  const card = h('div', { class: 'card sign-in' });

  function showEmailForm(email: string, message: string): void {
    const field = buildField(TEXTS.email, { type: 'email', autocomplete: 'email', maxlength: 254, value: email });
    const form = buildForm(TEXTS.sendCode, message, [field.element], async () => {
      const address = field.input.value.trim();
      await requestCode(companySlug, address);
      showCodeForm(address, '');
    });
    card.replaceChildren(logo ?? '', h('h1', {}, TEXTS.sharedDashboards), h('p', {}, TEXTS.codeExplained), form);
    // The first time, the card is added to the page only after this function returns.
    queueMicrotask(() => field.input.focus());
  }

  function showCodeForm(email: string, message: string): void {
    const field = buildField(TEXTS.code, {
      type: 'text',
      inputmode: 'numeric',
      autocomplete: 'one-time-code',
      placeholder: '1234-5678',
      maxlength: 9,
      oninput: () => {
        const digits = field.input.value.replaceAll(/\D/g, '').slice(0, 8);
        field.input.value = digits.length > 4 ? `${digits.slice(0, 4)}-${digits.slice(4)}` : digits;
        field.input.setCustomValidity(digits.length < 8 ? TEXTS.codeDigits : '');
      },
    });
    const form = buildForm(TEXTS.signIn, message, [field.element], async () => {
      onSignedIn(await signIn(companySlug, email, field.input.value));
    });
    card.replaceChildren(
      logo ?? '',
      h('h1', {}, TEXTS.enterCode),
      h(
        'p',
        {},
        ...TEXTS.codeSent(email).map((textPart) => (textPart === email ? h('strong', {}, textPart) : textPart)),
      ),
      form,
      h(
        'p',
        { class: 'links' },
        buildLink(TEXTS.sendAnother, () => void requestNewCode(email)),
        buildLink(TEXTS.otherAddress, () => showEmailForm(email, '')),
      ),
    );
    field.input.focus();
  }

  async function requestNewCode(email: string): Promise<void> {
    const message = await requestCode(companySlug, email).then(() => TEXTS.anotherSent, formatFailure);
    showCodeForm(email, message);
  }

  showEmailForm('', reason);
  return h('main', { class: 'message' }, card);
}

const buildLink = (text: string, onclick: () => void): HTMLElement =>
  h('button', { type: 'button', class: 'quiet', onclick }, text);

function buildField(label: string, attributes: Parameters<typeof h>[1]) {
  const id = createUniqueId('field');
  const input = h('input', { id, required: true, ...attributes });
  return { input, element: h('div', { class: 'field' }, h('label', { for: id }, label), input) };
}

/** Builds a form that shows errors below its fields, and cannot be submitted twice at once. */
function buildForm(
  action: string,
  message: string,
  fields: HTMLElement[],
  submit: () => Promise<void>,
): HTMLFormElement {
  const alert = h('p', { class: 'error', role: 'alert' }, message);
  const button = h('button', { type: 'submit', class: 'primary' }, action);
  const form = h('form', { onsubmit: submitForm }, ...fields, button, alert);
  async function submitForm(event: Event): Promise<void> {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    alert.textContent = '';
    await submit().catch((error: unknown) => {
      alert.textContent = formatFailure(error);
    });
    button.disabled = false;
  }
  return form;
}
