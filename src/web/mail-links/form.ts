import { ApiProblem } from '../api.ts';
import { createUniqueId, h } from '../dom.ts';
import { TEXTS } from '../texts.ts';
import { LINK_TEXTS } from './texts.ts';

/** A form field that shows the API's message about its value. */
export interface FormField {
  /** The field's name in the API's request body. */
  name: string;
  input: HTMLInputElement;
  element: HTMLElement;
  /** Shows a message beside the field; an empty one removes it. */
  showProblem(message: string): void;
}

/**
 * Builds a field with its label.
 * @param options.hint shown before anything is wrong
 * @param options.makeElementBeside makes an element beside the input
 */
export function buildField(
  name: string,
  label: string,
  attributes: Parameters<typeof h>[1],
  { hint, makeElementBeside }: { hint?: string; makeElementBeside?: (input: HTMLInputElement) => HTMLElement } = {},
): FormField {
  const [id, hintId, errorId] = [createUniqueId('field'), createUniqueId('hint'), createUniqueId('error')];
  const describedBy = hint === undefined ? errorId : `${errorId} ${hintId}`;
  const input = h('input', { id, 'aria-describedby': describedBy, oninput: () => showProblem(''), ...attributes });
  const error = h('p', { class: 'error', id: errorId });
  function showProblem(message: string): void {
    error.textContent = message;
    if (message === '') input.removeAttribute('aria-invalid');
    else input.setAttribute('aria-invalid', 'true');
  }
  const inputBox = makeElementBeside ? h('div', { class: 'beside' }, input, makeElementBeside(input)) : input;
  const element = h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    hint !== undefined && h('p', { class: 'hint', id: hintId }, hint),
    inputBox,
    error,
  );
  return { name, input, element, showProblem };
}

/** Builds a field for a new password, with a button that shows the typed text. */
export function buildPasswordField(label: string): FormField {
  const buildToggle = (input: HTMLInputElement) => {
    const button = h('button', {
      type: 'button',
      class: 'quiet',
      onclick: () => setPasswordVisible(input.type === 'password'),
    });
    function setPasswordVisible(isShown: boolean): void {
      input.type = isShown ? 'text' : 'password';
      button.textContent = isShown ? LINK_TEXTS.hide : LINK_TEXTS.show;
      button.setAttribute('aria-label', isShown ? LINK_TEXTS.hidePassword : LINK_TEXTS.showPassword);
    }
    setPasswordVisible(false);
    return button;
  };
  const attributes = { autocomplete: 'new-password', required: true, autocapitalize: 'off', spellcheck: 'false' };
  return buildField('password', label, attributes, { hint: LINK_TEXTS.passwordRules, makeElementBeside: buildToggle });
}

/**
 * Builds a form whose values the API validates. Problems are shown beside their fields, the first of which gets the focus; any
 * other failure is shown below. The form cannot be submitted twice at once. @param submit may handle failures itself
 * @param leadingElement an element before the fields
 */
export function buildForm(
  action: string,
  fields: readonly FormField[],
  submit: () => Promise<void>,
  leadingElement?: HTMLElement,
): HTMLFormElement {
  const alert = h('p', { role: 'alert' });
  const button = h('button', { type: 'submit', class: 'primary' }, action);
  const elements = fields.map(({ element }) => element);
  const form = h('form', { novalidate: true, onsubmit: submitForm }, leadingElement, ...elements, alert, button);

  async function submitForm(event: Event): Promise<void> {
    event.preventDefault();
    if (button.disabled) return;
    for (const field of fields) field.showProblem('');
    alert.textContent = '';
    setBusy(true);
    const failure = await submit().then(
      () => undefined,
      (error: unknown) => error,
    );
    setBusy(false);
    if (failure !== undefined) showFailure(failure);
  }

  function setBusy(isBusy: boolean): void {
    button.disabled = isBusy;
    button.textContent = isBusy ? LINK_TEXTS.sending : action;
    form.setAttribute('aria-busy', String(isBusy));
  }

  function showFailure(failure: unknown): void {
    const problem = failure instanceof ApiProblem ? failure : undefined;
    const invalidFields = fields.filter(({ name }) => problem?.details.some(({ field }) => field === name));
    for (const field of invalidFields) {
      const [first] = problem?.details.filter((detail) => detail.field === field.name) ?? [];
      field.showProblem(formatSentence(first?.message ?? TEXTS.failures.VALIDATION_ERROR));
    }
    invalidFields[0]?.input.focus();
    // Beside the fields it is seen anyway.
    alert.className = invalidFields.length > 0 ? 'unseen' : 'error';
    alert.textContent = invalidFields.length > 0 ? LINK_TEXTS.checkFields : (problem?.message ?? TEXTS.broken);
    if (!problem) throw failure;
  }

  return form;
}

/** Makes a sentence of the API's message about a field, which begins with a verb: `must have …`. */
function formatSentence(text: string): string {
  const sentence = text.charAt(0).toLocaleUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
