import { expect, it } from 'vitest';
import { chooseAcceptedLocale, parseLocale } from '../../src/texts/locales.ts';

it.each([
  ['en', 'en'],
  ['EN-gb', 'en'],
  ['pt', 'pt-BR'],
  ['pt-PT', 'pt-BR'],
  ['pt_br', 'pt-BR'],
  [' es-419 ', 'es'],
  ['de', undefined],
  ['est', undefined],
  ['en;q=1', undefined],
  ['es<script>', undefined],
  ['', undefined],
  [null, undefined],
])('a language tag %j means the locale %j', (tag, locale) => {
  expect(parseLocale(tag)).toBe(locale);
});

it.each([
  [null, undefined],
  ['', undefined],
  ['de, fr;q=0.9', undefined],
  ['de, fr;q=0.9, es;q=0.1', 'es'],
  ['pt-PT,pt;q=0.9,en;q=0.8', 'pt-BR'],
  ['en;q=0.5, es;q=0.9, pt;q=0.8', 'es'],
  ['en;q=0.8,pt;q=0.8', 'en'],
  ['pt;q=0, es;q=0.001', 'es'],
  ['pt;q=0', undefined],
  ['*', 'en'],
  ['de, *;q=0.5', 'en'],
  ['en;q=0, *', 'pt-BR'],
  ['en;q=0, pt-BR;q=0, *', 'es'],
  ['es ; q=0.7 , en ; Q=0.3', 'es'],
  // Out of form: as if not there.
  ['es;q=2, en;q=0.1', 'en'],
  ['es;q=-1, en;q=0.1', 'en'],
  ['es;level=1, en', 'en'],
  [',,;,es', 'es'],
  [`${'de,'.repeat(1000)}es`, undefined],
])('Accept-Language %j asks for the locale %j', (header, locale) => {
  expect(chooseAcceptedLocale(header)).toBe(locale);
});
