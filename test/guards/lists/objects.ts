import { makeGuards } from '../guard.ts';

const ATTEMPT_TESTS = ['test/objects/attempt-limiter.test.ts'];
const ORGANIZATION_GATE_TESTS = ['test/objects/organization-gate.test.ts'];
const FORMER_TABLE_TESTS = ['test/company-log/former-tables.test.ts'];
const COMPANY_LOG_TESTS = ['test/company-log/company-log.test.ts'];
const IDEMPOTENCY_TESTS = ['test/http/idempotency.test.ts'];
const IP_LIMITER_TESTS = ['test/objects/ip-limiter.test.ts'];
const VIEW_TESTS = ['test/company-log/views.test.ts'];
const VIEWER_GATE_TESTS = ['test/objects/viewer-gate.test.ts'];
const WINDOW_TESTS = ['test/kernel/fixed-window.test.ts'];

/** Guards of the refusals of Durable Objects, and of calls that arrive twice and must count once. */
export const OBJECT_GUARDS = [
  ...makeGuards('src/objects/attempt-limiter.ts', ATTEMPT_TESTS, [
    {
      text: 'while (!this.#inFlight.has(attemptId)) {',
      without: 'for (let letIn = false; !letIn; letIn = this.#inFlight.has(attemptId)) {',
    },
    { text: 'failures >= limit', without: 'false' },
    { text: 'failures + this', without: 'this' },
    { text: 'failures + this.#inFlight.size', without: 'failures' },
    {
      text: 'this.#inFlight.delete(attemptId)) {\n      if (hasFailed) ',
      without: 'this.#inFlight.delete(attemptId)) {\n ',
    },
    { text: 'this.#overdue.delete(attemptId)', without: 'false' },
    { text: 'if (!hasFailed) ' },
    { text: 'else if (hasFailed) {', without: 'else {' },
    {
      text: 'endsAt > Date.now()',
      without: 'false',
      tests: ['test/sign-in/attempts.console.test.ts'],
      title: 'when its window is over',
    },
    { text: ' && window.endsAt > now' },
    { text: 'failures + change < 0', without: 'false' },
    { text: 'failures > 0 ? endsAt : ' },
  ]),
  ...makeGuards('src/objects/company-log.ts', COMPANY_LOG_TESTS, [
    { text: 'lastMovedKey !== undefined && compareKeys(toLogKey(record), lastMovedKey) <= 0', without: 'false' },
    {
      text: 'compareKeys(toLogKey(record), lastMovedKey) <= 0',
      without: 'true',
      title: 'moved and listed correctly once the clock',
    },
    { text: ' && !isStoredInMinute(this.#sql, kind, record)' },
    { text: 'lateRecords.length > 0 || isDatabaseFull(this.#sql)', without: 'isDatabaseFull(this.#sql)' },
    { text: 'lateRecords.length > 0 || isDatabaseFull(this.#sql) ?', without: 'lateRecords.length > 0 ?' },
    { text: 'const fullKind = isDatabaseFull(this.#sql) ?', without: 'const fullKind = false ?' },
    { text: 'this.#alarmAt !== null && this.#alarmAt <= at', without: 'false' },
    { text: ' && this.#alarmAt <= at' },
  ]),
  ...makeGuards('src/logs/move-to-files.ts', COMPANY_LOG_TESTS, [
    {
      text: 'countRecordsInRange(sql, kind, { ...toRange({}), upper: getKeyAfter(part.last) }) !== records.length',
      without: 'false',
    },
    {
      text: '{ ...toRange({}), upper: getKeyAfter(part.last) }',
      without: '{ lower: part.first, upper: getKeyAfter(part.last) }',
      title: 'before all others',
    },
    { text: 'day.upper.at > cutoff', without: 'false' },
  ]),
  ...makeGuards('src/logs/move-to-files.ts', VIEW_TESTS, [
    { text: "while (kind === 'share' && countViews(sql));" },
    { text: 'lateRecords.filter(({ id }) => !recordsById.has(id))', without: 'lateRecords' },
  ]),
  ...makeGuards('src/logs/day-tables.ts', COMPANY_LOG_TESTS, [
    {
      text: 'lastMovedKey ? { lower: getKeyAfter(lastMovedKey)',
      without: 'false as boolean && lastMovedKey ? { lower: getKeyAfter(lastMovedKey)',
    },
    { text: 'if (!left) {', without: 'if (true as boolean) {', title: 'only a part of a day' },
    { text: '(needsSpace && upper.at > now)', without: 'false', title: 'full of today' },
  ]),
  ...makeGuards('src/logs/day-tables.ts', FORMER_TABLE_TESTS, [
    { text: 'at < formerEnd', without: 'false' },
    { text: 'isFormerTable || (', without: '(' },
    { text: 'isFirstTakeover ? getDayRange(newest).upper.at : NO_DAY', without: 'getDayRange(newest ?? 0).upper.at' },
    { text: 'occurredAt >= ? ORDER BY', without: '? IS NULL ORDER BY' },
    { text: 'INSERT OR IGNORE INTO ${ensureTable(', without: 'INSERT INTO ${ensureTable(' },
  ]),
  ...makeGuards('src/logs/view-counts.ts', VIEW_TESTS, [
    { text: 'compareKeys(toLogKey(event), viewsCursor) <= 0', without: 'false' },
    { text: "!hasRecord(sql, 'share', event)", without: 'true' },
    { text: ' || occurredAt < since' },
    { text: ' WHERE NOT EXISTS (SELECT 1 FROM views_counted)' },
    { text: 'lower: getKeyAfter({ at, id })', without: 'lower: toRange({}).lower' },
  ]),
  ...makeGuards('src/logs/listing.ts', COMPANY_LOG_TESTS, [
    { text: 'isMoved = state() !== stateBefore;', without: 'isMoved = state() < stateBefore;' },
    { text: 'isWholeDay && isDayOver', without: 'isWholeDay', title: 'counts' },
  ]),
  ...makeGuards('src/logs/parts.ts', COMPANY_LOG_TESTS, [
    { text: ' AND file = ?', without: ' AND ? IS NOT NULL', title: 'writes anew' },
  ]),
  ...makeGuards('src/logs/rows.ts', COMPANY_LOG_TESTS, [{ text: 'INSERT OR IGNORE', without: 'INSERT OR REPLACE' }]),
  ...makeGuards('src/modules/company-log/read.ts', COMPANY_LOG_TESTS, [
    { text: 'lastKey !== null && compareKeys(toLogKey(record), lastKey) >= 0', without: 'false' },
    { text: 'file === lastMissingFile', without: 'true' },
  ]),
  ...makeGuards(
    'src/modules/company-log/feed.ts',
    ['test/company-log/feed.test.ts'],
    [
      {
        text: 'if (!(await waitUntilSettled(batch.handOverPromise, 2 * TIMEOUT_MS))) {',
        without: 'if (false as boolean) {',
      },
      { text: 'waitUntilSettled(pendingCall, TIMEOUT_MS)', without: 'pendingCall' },
      { text: 'if (countRecords(batch.records) < BATCH_SIZE) {', without: 'if (false as boolean) {' },
    ],
  ),
  ...makeGuards('src/objects/ip-limiter.ts', IP_LIMITER_TESTS, [
    { text: 'if (storedRecord)', without: 'if (false as boolean && storedRecord)' },
    { text: 'if (!minuteRecord) return;' },
    { text: 'count === minuteRecord.count', without: 'true' },
  ]),
  ...makeGuards('src/objects/organization-gate.ts', ORGANIZATION_GATE_TESTS, [
    { text: 'nonce && nonce.goodUntil < now', without: 'false' },
    { text: ' && usingRequestId !== requestId' },
    { text: 'usingRequestId !== undefined && usingRequestId !== requestId', without: 'false' },
    { text: '!organization.allowed || ' },
    { text: ' || !principal.allowed' },
    { text: 'nonce && usingRequestId === undefined', without: 'nonce' },
    { text: 'if (nonces.nextEnd !== null) ', without: 'if (false) ' },
    { text: 'nonce && this.#kept.nonces.findUsingRequest(nonce) === requestId', without: 'nonce' },
    { text: "this.#organization.uncountRequest('organization', now);" },
    { text: 'this.#principals.uncountRequest(principalId, now);' },
    { text: 'if (this.#alarmAt !== null && this.#alarmAt <= time) return;' },
    { text: 'this.#alarmAt !== null && ' },
    { text: 'await state.storage.getAlarm()', without: 'null' },
    { text: 'this.#alarmAt = null;' },
    { text: 'keys.dropOldDays(now);', tests: IDEMPOTENCY_TESTS },
    { text: 'if (keys.nextEnd !== null) ', without: 'if (false) ', tests: IDEMPOTENCY_TESTS },
    {
      text: "if (once) this.#kept.keys.end({ ...once, senderId: principalId, requestId }, { state: 'undone' });",
      tests: IDEMPOTENCY_TESTS,
    },
    { text: 'if (!once) return null;', tests: IDEMPOTENCY_TESTS },
  ]),
  ...makeGuards('src/objects/nonces.ts', ORGANIZATION_GATE_TESTS, [
    { text: 'if (found) return', without: 'if (false as boolean && found) return' },
    {
      text: 'request_id FROM nonces_${hour} WHERE access_key = ?',
      without: 'request_id FROM nonces_${hour} WHERE ? IS NOT NULL',
    },
    { text: ' AND nonce = ?`,\n', without: ' AND ? IS NOT NULL`,\n' },
    {
      text: 'DELETE FROM nonces_${hour} WHERE access_key = ?',
      without: 'DELETE FROM nonces_${hour} WHERE ? IS NOT NULL',
    },
    { text: ' AND nonce = ?`, accessKey', without: ' AND ? IS NOT NULL`, accessKey' },
    { text: 'if (hour >= toHourNumber(now)) continue;' },
    { text: 'this.#hours.has(hour)', without: 'false' },
    { text: "columns.next().done ? 'NULL'", without: "columns.next().done ? 'request_id'" },
  ]),
  ...makeGuards('src/objects/idempotency-keys.ts', IDEMPOTENCY_TESTS, [
    { text: "if (!digests.includes(keyRow.digest)) return { state: 'reused' };" },
    { text: "if (inUseUntil === null) return answer === null ? { state: 'not_kept' } : { state: 'kept', answer };" },
    { text: 'inUseUntil > now && keyRow.request_id', without: 'keyRow.request_id' },
    { text: 'if (inUseUntil > now && keyRow.request_id !== requestId)', without: 'if (false)' },
    { text: ' && this.#sql.databaseSize < this.#roomBytes' },
    { text: 'if (day >= getDay(now) - 1) continue;' },
    { text: ' - 1) continue;', without: ') continue;' },
    { text: 'if (!this.#days.has(day)) {', without: '{' },
    {
      text: 'WHERE sender_id = ? AND key = ? AND kept_until',
      without: 'WHERE ? IS NOT NULL AND key = ? AND kept_until',
    },
    { text: ' AND key = ? AND kept_until', without: ' AND ? IS NOT NULL AND kept_until' },
    { text: 'if (keyRow) {', without: 'if (false as boolean && keyRow) {' },
    { text: "if (end.state === 'undone') {", without: 'if (false as boolean) {' },
    { text: 'INSERT OR REPLACE', without: 'INSERT' },
    { text: ' AND kept_until > ?', without: ' AND ? IS NOT NULL' },
    { text: 'AND request_id = ? AND', without: 'AND ? IS NOT NULL AND' },
    { text: ' AND in_use_until IS NOT NULL' },
  ]),
  ...makeGuards(
    'src/http/idempotency.ts',
    ['test/http/idempotency-access.test.ts'],
    [
      { text: 'if (access === null || access !== (await describeAccess(context.actor)))', without: 'if (false)' },
      { text: 'access === null || ' },
      { text: 'await facts.contract?.checkPath?.(context as unknown as PrincipalContext, c.req.param());' },
    ],
  ),
  ...makeGuards('src/objects/token-limiter.ts', IDEMPOTENCY_TESTS, [
    {
      text: 'if (!use || !limit.allowed) return { limit, key: null };',
      without: 'if (!use) return { limit, key: null };',
    },
    { text: 'if (!use || ', without: 'if (' },
  ]),
  ...makeGuards('src/objects/viewer-gate.ts', VIEWER_GATE_TESTS, [
    {
      text: 'Date.now() < this.#wakingUntil',
      without: 'true',
      tests: ['test/viewing/waking-database.sharing.test.ts'],
      title: 'the console says',
    },
    { text: 'if (this.#runningExecutions.has(slot.id)) return true;' },
    { text: 'this.#forget(slot.id);\n    const', without: 'const' },
    { text: '(({ viewer }) => viewer === slot.viewer)', without: '(() => true)' },
    { text: 'this.#waitingViewers.length >= MAX_WAITING_EXECUTIONS.company ||\n      ' },
    { text: ' ||\n      viewerWaitingCount >= MAX_WAITING_EXECUTIONS.viewer' },
    { text: 'if (endsAt <= now) this', without: 'this' },
    { text: 'if (endsAt <= now) this.#runningExecutions.delete(id);', without: '{}' },
    { text: 'this.#runningExecutions.size < MAX_EXECUTIONS.company', without: 'true' },
    { text: 'this.#countRunning(viewer) < MAX_EXECUTIONS.viewer', without: 'true' },
    { text: 'slot.viewer === viewer', without: 'true' },
    { text: 'slot.id === id', without: 'true' },
    { text: 'nextIndex < 0 ? [] : ' },
    { text: 'if (!slot) return;' },
    { text: 'if (index >= 0) ' },
  ]),
  ...makeGuards('src/objects/jurisdiction.ts', ORGANIZATION_GATE_TESTS, [
    { text: 'jurisdiction === undefined', without: 'false' },
  ]),
  ...makeGuards('src/kernel/fixed-window.ts', WINDOW_TESTS, [
    { text: 'count < limit', without: 'true' },
    { text: 'if (!state.allowed) return state;' },
    { text: 'Math.max(0, window.count - 1)', without: 'window.count - 1' },
    { text: 'storedWindow && storedWindow.endsAt > now', without: 'storedWindow' },
    { text: 'if (endsAt <= now) this', without: 'this' },
  ]),
];
