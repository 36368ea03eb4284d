import { describe, expect, it } from 'vitest';
import { isMadeOf } from '../../src/kernel/passwords.ts';

const KNOWN = ['jose.lima@acme', 'José Lima', 'Acme Analytics Ltda.', 'acme-analytics'];

describe('a password that is made of its person’s own words', () => {
  it.each([
    'jose.lima@acme',
    'JoseLima2026',
    'JOSÉ-LIMA-1!',
    'lima.lima.lima',
    'acme-analytics',
    'AcmeAnalytics2026!',
    'Acme_Lima_20260101',
    'analytics12345678',
  ])('%s', (password) => {
    expect(isMadeOf(password, KNOWN)).toBe(true);
  });

  it.each([
    'correct-horse-battery',
    'limestone quarry at dawn',
    // Enough is left that nobody knows.
    'acme likes purple turtles',
    '12345678901234',
    'vK3#pQz81!mm',
    '',
  ])('is not %j', (password) => {
    expect(isMadeOf(password, KNOWN)).toBe(false);
  });

  it('leaves out words too short to mean anybody', () => {
    expect(isMadeOf('al-2026-x', ['Al', 'Bo'])).toBe(false);
  });
});
