import { h } from '../dom.ts';
import type { Operation } from './reference.ts';
import { buildExamples } from './snippets.ts';

/**
 * Builds the overview of an operation: its effect, permission and parameters, with a request and a response that were really
 * made; for an event, the body that is sent.
 */
export function buildOverview(operation: Operation): HTMLElement[] {
  const { method, path, isEvent, summary, tag, object } = operation;
  const { description = '', parameters = [], requestBody, responses, 'x-permission': permission } = object;
  const [[, success] = []] = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const { content } = (isEvent ? requestBody : success) ?? {};
  const json = content?.['application/json']?.example;
  return [
    h(
      'header',
      { class: 'heading' },
      h('p', {}, tag),
      h('h2', {}, summary),
      h('p', {}, ...(isEvent ? ['Sent by POST to webhook endpoints'] : [h('code', {}, `${method} ${path}`)])),
    ),
    h('p', {}, ...buildProse(description)),
    ...(isEvent
      ? []
      : [
          h('p', {}, ...buildProse(permission ? `Asks for \`${permission}\`.` : 'Asks for no permission.')),
          buildExamples(operation, location.origin),
        ]),
    ...(parameters.length > 0
      ? [h('h3', {}, 'Parameters'), h('dl', {}, ...parameters.flatMap(buildParameterEntry))]
      : []),
    ...(json === undefined
      ? []
      : [
          h('h3', {}, isEvent ? 'Body' : 'Answer'),
          h('pre', { tabindex: 0 }, h('code', {}, JSON.stringify(json, null, 2))),
        ]),
  ];
}

const buildParameterEntry = ({
  name,
  in: parameterPlace,
  required,
  description = '',
}: NonNullable<Operation['object']['parameters']>[number]) => [
  h('dt', {}, h('code', {}, name), ` in ${parameterPlace}${required ? ', required' : ''}`),
  h('dd', {}, ...buildProse(description)),
];

/** Converts a text with code between backticks to nodes. */
const buildProse = (text: string): (Node | string)[] =>
  text.split('`').map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part));
