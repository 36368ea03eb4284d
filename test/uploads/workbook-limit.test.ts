import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { runWithWorkbookLimit } from '../../src/modules/uploads/workbook-limit.ts';

const MIB_BYTES = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Begins to convert a workbook whose texts take the given number of bytes, and continues until `end` is called. */
function beginConversion(bytes: number) {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  let hasBegun = false;
  const conversion = runWithWorkbookLimit(async (reserveBytes) => {
    await reserveBytes(bytes);
    hasBegun = true;
    await isOver;
    return 'converted';
  });
  return { end, done: conversion, hasBegun: () => hasBegun };
}

it('workbooks with many texts are converted one at a time, all other workbooks in parallel', async () => {
  const [first, second, small] = [
    beginConversion(48 * MIB_BYTES),
    beginConversion(9 * MIB_BYTES),
    beginConversion(8 * MIB_BYTES),
  ];
  await vi.advanceTimersByTimeAsync(1_000);
  expect([first, second, small].map(({ hasBegun }) => hasBegun())).toEqual([true, false, true]);
  first.end();
  expect(await first.done).toBe('converted');
  await vi.advanceTimersByTimeAsync(0);
  expect(second.hasBegun()).toBe(true);
  for (const { end } of [second, small]) end();
  expect(await Promise.all([second.done, small.done])).toEqual(['converted', 'converted']);
});

it('a workbook whose conversion fails lets the next conversion begin', async () => {
  const failingConversion = runWithWorkbookLimit(async (reserveBytes) => {
    await reserveBytes(48 * MIB_BYTES);
    throw new Error('damaged');
  });
  await expect(failingConversion).rejects.toThrow('damaged');
  const next = beginConversion(48 * MIB_BYTES);
  next.end();
  expect(await next.done).toBe('converted');
});

it('a workbook whose conversion has waited for 20 seconds is left for the next message', async () => {
  const [first, second] = [beginConversion(48 * MIB_BYTES), beginConversion(48 * MIB_BYTES)];
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await second.done).toBeNull();
  first.end();
  await first.done;
});
