import { describe, expect, it } from 'vitest';
import { consistsOfKnownWords } from '../../src/modules/users/passwords.ts';

const KNOWN_WORDS = ['jose.lima@acme', 'José Lima', 'Acme Analytics Ltda.', 'acme-analytics'];

describe('the check of a password for its user’s own words', () => {
  it.each([
    'jose.lima@acme',
    'JoseLima2026',
    'JOSÉ-LIMA-1!',
    'lima.lima.lima',
    'acme-analytics',
    'AcmeAnalytics2026!',
    'Acme_Lima_20260101',
    'analytics12345678',
  ])('refuses %s', (password) => {
    expect(consistsOfKnownWords(password, KNOWN_WORDS)).toBe(true);
  });

  it.each([
    'correct-horse-battery',
    'limestone quarry at dawn',
    // What is left is hard enough to guess.
    'acme likes purple turtles',
    '12345678901234',
    'vK3#pQz81!mm',
    '',
  ])('accepts %j', (password) => {
    expect(consistsOfKnownWords(password, KNOWN_WORDS)).toBe(false);
  });

  it('ignores words too short to name anybody', () => {
    expect(consistsOfKnownWords('al-2026-x', ['Al', 'Bo'])).toBe(false);
  });
});
