import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accountInUse } from '../../src/modules/accounts/failures.ts';
import { queryUnreachable } from '../../src/modules/knowledge/metrics/failures.ts';
import { policyInUse } from '../../src/modules/policies/failures.ts';
import { FAILURE_SENTENCES } from '../../src/texts/errors/failures.ts';
import { FIELD_SENTENCES } from '../../src/texts/errors/fields.ts';
import {
  explainField,
  formatTryAgain,
  isTranslated,
  PLACEHOLDER_PATTERN,
  translate,
} from '../../src/texts/errors/translate.ts';

const SENTENCES = [...Object.values(FIELD_SENTENCES), FAILURE_SENTENCES].flatMap((sentences) =>
  Object.entries(sentences).map(([english, [portuguese, spanish]]) => [english, portuguese, spanish] as const),
);
const listPlaceholders = (text: string) =>
  [...text.matchAll(new RegExp(PLACEHOLDER_PATTERN, 'g'))].map(([, place]) => place).toSorted();

describe('every translated sentence of errors', () => {
  it('is listed once', () => {
    const english = SENTENCES.map(([text]) => text);
    expect(english.filter((text, index) => english.indexOf(text) !== index)).toEqual([]);
  });

  it.each(SENTENCES)('has the same placeholders in every language: %s', (english, portuguese, spanish) => {
    expect([listPlaceholders(portuguese), listPlaceholders(spanish)]).toEqual([
      listPlaceholders(english),
      listPlaceholders(english),
    ]);
  });

  it.each(SENTENCES)('is translated as itself, not as another sentence: %s', (english, portuguese, spanish) => {
    const fillPlaceholders = (text: string) =>
      text.replaceAll(new RegExp(PLACEHOLDER_PATTERN, 'g'), (_, placeholder) =>
        ['min', 'max'].includes(placeholder) ? '7' : `<${placeholder}>`,
      );
    expect([translate(fillPlaceholders(english), 'pt-BR'), translate(fillPlaceholders(english), 'es')]).toEqual([
      fillPlaceholders(portuguese),
      fillPlaceholders(spanish),
    ]);
  });
});

describe('the message of an invalid field', () => {
  it.each([
    ['must have at least 12 characters', { reason: 'too_short', limits: { min: 12 } }],
    ['must not be empty', { reason: 'too_short', limits: { min: 1 } }],
    ['must be at most 3.5', { reason: 'too_large', limits: { max: 3.5 } }],
    ['must be at most 16 KiB as JSON', { reason: 'too_large' }],
    ['must be one of a, b', { reason: 'not_one_of' }],
    ['is required', { reason: 'required' }],
    ['Any words of a database', { reason: 'format' }],
  ])('comes with a machine-readable reason and limits: %s', (message, details) => {
    expect(explainField(message, 'en')).toStrictEqual({ message, ...details });
  });

  it.each([
    [accountInUse(1, 0), 'Ainda estão ligados a esta conta 1 usuário e 0 contas de serviço. Remova-os primeiro.'],
    [accountInUse(2, 1), 'Ainda estão ligados a esta conta 2 usuários e 1 conta de serviço. Remova-os primeiro.'],
    [policyInUse(1), 'Esta política está anexada a 1 grupo. Desanexe-a primeiro.'],
    [policyInUse(3), 'Esta política está anexada a 3 grupos. Desanexe-a primeiro.'],
    [
      queryUnreachable(
        [
          { id: 'a', kind: 'metric', name: 'A' },
          { id: 'b', kind: 'dimension', name: 'B' },
        ],
        [],
      ),
      '"A", "B": há tabelas que nenhuma relação mapeada une.',
    ],
  ])('is translated with what it counts or names: %s', (failure, translation) => {
    expect(translate(failure.message, 'pt-BR')).toBe(translation);
  });

  it('is translated into the requested language, with its nouns', () => {
    expect(translate('There is no such service account.', 'es')).toBe('No se encontró: cuenta de servicio.');
    expect(explainField('must have at least 12 characters', 'pt-BR').message).toBe('deve ter pelo menos 12 caracteres');
  });

  it('stays in English if it is not a known sentence', () => {
    expect(isTranslated('column "a" does not exist')).toBe(false);
    expect(translate('column "a" does not exist', 'es')).toBe('column "a" does not exist');
  });
});

it('the sentence that asks to try again gives the wait in seconds, and a long one in minutes too', () => {
  expect([1, 119, 120, 1741].map((seconds) => formatTryAgain(seconds, 'en'))).toEqual([
    'Try again in 1 second.',
    'Try again in 119 seconds.',
    'Try again in 120 seconds (2 minutes).',
    'Try again in 1741 seconds (30 minutes).',
  ]);
  expect(formatTryAgain(60, 'es')).toBe('Inténtelo de nuevo en 60 segundos.');
  expect(formatTryAgain(895, 'pt-BR')).toBe('Tente novamente em 895 segundos (15 minutos).');
});

describe('the list of sentences of errors', () => {
  /** The English text written in the sources, without the escapes of strings. */
  const sourceText = globSync('src/**/*.ts', { exclude: (path) => path.startsWith('src/texts/errors') })
    .map((file) => readFileSync(file, 'utf8').replaceAll(/\\(['`])/g, '$1'))
    .join('\n');
  const isWritten = (sentencePart: string): boolean =>
    sourceText.includes(sentencePart.replace(/^[\s:,]+|[\s:,]+$/g, ''));

  it.each(SENTENCES)('has only sentences that the sources still use: %s', (english) => {
    const parts = english.split(PLACEHOLDER_PATTERN).filter((_, index) => index % 2 === 0);
    expect(parts.filter((part) => !isWritten(part))).toEqual([]);
  });
});

it('the checks of a confirmed upload have only sentences that are listed', () => {
  const source = readFileSync('src/modules/uploads/confirm.ts', 'utf8').replaceAll(/\/\*\*.*?\*\//gs, '');
  const texts = [...source.matchAll(/'([^'\n]*)'|`([^`]*)`/g)].map(([, text, template]) => text ?? template ?? '');
  const sentences = texts.map((text) => text.replaceAll(/\$\{[^}]*\}/g, 'x')).filter((text) => text.includes(' '));
  expect(sentences).toContain('must be true for a new column');
  expect(sentences.filter((sentence) => !isTranslated(sentence))).toEqual([]);
});
