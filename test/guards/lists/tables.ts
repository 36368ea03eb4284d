import { makeGuards } from '../guard.ts';

const RENEWAL_TESTS = ['test/single-sign-on/secret-races.test.ts'];
const PROVISIONING_TESTS = ['test/managed-tables/provisioning.test.ts'];
const TABLE_TESTS = [
  'test/managed-tables/races.test.ts',
  'test/managed-tables/tables.test.ts',
  'test/managed-tables/rows.test.ts',
];
const ROW_COUNT_TESTS = ['test/managed-tables/row-counts.test.ts'];
const BUSY_TABLE_TESTS = ['test/managed-tables/busy.test.ts'];
const TABLE_INDEX_TESTS = ['test/managed-tables/indexes.test.ts'];
const EXPORT_TESTS = ['test/managed-tables/export-streams.test.ts'];
const EXPORT_CHANGE_TESTS = ['test/managed-tables/export-changes.test.ts'];
const CURSOR_TESTS = ['test/managed-tables/cursors.test.ts'];
const UPLOAD_RACE_TESTS = ['test/uploads/races.managed-tables.test.ts'];
const RESUMABLE_RACE_TESTS = ['test/uploads/resumable-races.managed-tables.test.ts'];
const UNDO_RACE_TESTS = ['test/uploads/undo-races.managed-tables.test.ts'];
const UPSERT_TESTS = ['test/uploads/upsert.managed-tables.test.ts'];
const UNDO_TESTS = ['test/uploads/undo.managed-tables.test.ts'];
const UPLOAD_SWEEP_TESTS = ['test/uploads/housekeeping.managed-tables.test.ts'];
const UPLOAD_TURN_TESTS = ['test/uploads/fair-queue.managed-tables.test.ts'];
const DELIVERY_TESTS = ['test/uploads/delivery.managed-tables.test.ts'];
const REANALYSIS_TESTS = ['test/uploads/reanalysis.managed-tables.test.ts'];
const EVOLUTION_TESTS = ['test/uploads/evolve.managed-tables.test.ts'];
const RESTORED_TITLE = 'is kept when it is restored';
const DATABASE_WAKING_TESTS = ['test/viewing/waking-database.sharing.test.ts'];
const UPLOAD_TESTS = [
  'test/uploads/races.managed-tables.test.ts',
  'test/uploads/confirm.managed-tables.test.ts',
  'test/uploads/delivery.managed-tables.test.ts',
  'test/uploads/housekeeping.managed-tables.test.ts',
];
const WORKBOOK_LIMIT_TESTS = ['test/uploads/workbook-limit.test.ts'];

export const MANAGED_TABLE_GUARDS = [
  ...makeGuards('src/modules/uploads/workbook-limit.ts', WORKBOOK_LIMIT_TESTS, [
    { text: 'release = await largeWorkbookSemaphore.acquire();', without: 'release = () => undefined;' },
    { text: '(release as ReleasePermit | null)?.();' },
  ]),
  ...makeGuards(
    'src/modules/managed-tables/large-rows.ts',
    ['test/managed-tables/rows.test.ts'],
    [
      {
        text: 'largeRowSemaphore.runWithPermit(work, tooManyLargeRows)',
        without: 'work()',
        title: 'one insert at a time',
      },
    ],
  ),
  ...makeGuards(
    'src/tenant-sql/rows.ts',
    ['test/versions/tables.test.ts'],
    [
      { in: 'buildLockRow', text: ' FOR UPDATE' },
      {
        in: 'buildLockRow',
        text: 'ROW EXCLUSIVE',
        without: 'ACCESS SHARE',
        tests: ['test/versions/loads.test.ts'],
        title: 'is applied before the upsert once the write has locked the row',
      },
    ],
  ),
  ...makeGuards(
    'src/modules/managed-tables/rows.ts',
    ['test/versions/tables.test.ts'],
    [
      { in: 'updateRow', text: 'await requireRowVersion(tx, ctx, table, rowId);' },
      { in: 'deleteRow', text: 'await requireRowVersion(tx, ctx, table, rowId);' },
    ],
  ),
  ...makeGuards(
    'src/modules/managed-tables/change.ts',
    ['test/versions/tables.test.ts'],
    [{ in: 'changeTable', text: 'await requireTableVersion(ctx, table);' }],
  ),
  ...makeGuards(
    'src/modules/managed-tables/service.ts',
    ['test/versions/tables.test.ts'],
    [{ in: 'deleteTable', text: 'await requireTableVersion(ctx, table);' }],
  ),
  ...makeGuards('src/modules/managed-database/store.ts', PROVISIONING_TESTS, [
    { in: 'ensureDatabase', text: '.onConflictDoNothing()' },
    {
      in: 'takeLease',
      text: ', or(isNull(managedDatabases.leaseUntil), lte(managedDatabases.leaseUntil, now))',
      title: 'does not let another call take its lease',
    },
    { in: 'releaseLease', text: 'isLeasedBy(companyId, token)', without: 'isOfCompany(companyId)' },
    { in: 'storeReaderPassword', text: ', isNull(managedDatabases.readerPassword)' },
    { in: 'storeConnection', text: 'isLeasedBy(companyId, token)', without: 'isOfCompany(companyId)' },
    {
      in: 'finishSweep',
      text: 'iif(${managedDatabases.sweepMarks} = ${sweepMark}, ${nextSweepAt}, ${managedDatabases.sweepAt})',
      without: '${nextSweepAt}',
      tests: UPLOAD_SWEEP_TESTS,
      title: 'a sweep that is scheduled while another sweep runs stays scheduled',
    },
    {
      in: 'replaceEncryptedConnections',
      text: 'sql`${ownerConnection} is ${oldValues.ownerConnection}`,',
      tests: RENEWAL_TESTS,
    },
    {
      in: 'replaceEncryptedConnections',
      text: 'sql`${readonlyConnection} is ${oldValues.readonlyConnection}`,',
      tests: RENEWAL_TESTS,
    },
    {
      in: 'replaceEncryptedConnections',
      text: 'sql`${readerPassword} is ${oldValues.readerPassword}`,',
      tests: RENEWAL_TESTS,
    },
  ]),
  ...makeGuards('src/modules/managed-database/data-changes.ts', DATABASE_WAKING_TESTS, [
    { in: 'changeData', text: 'isEnded = !resultUnknown.matches(error);', title: 'of unknown outcome' },
  ]),
  ...makeGuards('src/modules/managed-database/data-versions.ts', DATABASE_WAKING_TESTS, [
    {
      text: 'this.#changingTables.size === 0',
      without: 'true',
      title: 'a result that was read while the change was made is not cached',
    },
    {
      text: ' && this.#findLastChange(tables) <= version',
      tests: ['test/managed-database/data-versions.test.ts'],
      title: 'exactly until',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/changes.ts', DATABASE_WAKING_TESTS, [
    { in: 'runChange', text: '        await awaitAnnouncements();\n', title: 'change is announced' },
  ]),
  ...makeGuards('drizzle/0000_identity.sql', PROVISIONING_TESTS, [
    {
      text: 'UNIQUE INDEX `managed_databases_company_id_unique`',
      without: 'INDEX `managed_databases_company_id_unique`',
      title: 'has one record for a company',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/store.ts', TABLE_TESTS, [
    { in: 'CURRENT_TABLE_CONDITION', text: ' AND deleted_at IS NULL' },
    { in: 'LOCK_CLAUSES', text: "'FOR UPDATE'", without: "''" },
    { in: 'LOCK_CLAUSES', text: "'FOR NO KEY UPDATE'", without: "''", tests: UPLOAD_TESTS },
    { in: 'LOCK_CLAUSES', text: "'FOR KEY SHARE'", without: "''" },
    {
      in: 'HAS_ACTIVE_UPLOAD_SQL',
      text: 'job.user_table_id = $1 AND',
      without: 'job.user_table_id = $1 AND false AND',
      tests: UPLOAD_TESTS,
    },
    {
      in: 'resetRowCount',
      text: 'WITH beside AS (DELETE FROM console.row_count_changes WHERE table_id = $1)',
      tests: ROW_COUNT_TESTS,
      title: 'when the table is deleted, restored and truncated',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/trash-store.ts', UPLOAD_SWEEP_TESTS, [
    {
      in: 'removeDeletedTable',
      text: ' AND deleted_at <= $3',
      without: ' AND $3::text IS NOT NULL',
      title: RESTORED_TITLE,
    },
    {
      in: 'restoreDeletedTable',
      text: ' AND deleted_at > $3',
      without: ' AND $3::text IS NOT NULL',
      tests: ['test/managed-tables/restore.test.ts'],
      title: 'restored by another request meanwhile',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/indexes.ts', TABLE_INDEX_TESTS, [
    {
      in: 'runWithIndexLock',
      text: '!(await store.tryLockIndexes(database, tableId))',
      without: 'Number.isNaN(deadline)',
      title: 'is refused as the eleventh',
    },
    { in: 'createIndex', text: '>= MAX_INDEXES', without: '> MAX_INDEXES', title: 'is refused as the eleventh' },
    {
      in: 'createIndex',
      text: 'await waitForTransactions(database, table.displayName, deadline, false);',
      tests: BUSY_TABLE_TESTS,
      title: 'is refused as busy while other transactions are open',
    },
    {
      in: 'deleteIndex',
      text: 'await waitForTransactions(database, table.displayName, deadline, true);',
      tests: BUSY_TABLE_TESTS,
      title: 'is not dropped while another transaction reads',
    },
    {
      in: 'buildIndex',
      text: 'if (!builtIndex) {',
      without: 'if (!builtIndex && id === null) {',
      title: 'nor of another that takes its name',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/cursor.ts', CURSOR_TESTS, [
    { in: 'formatPurpose', text: ' tableId, filters', without: ' filters', title: 'is valid for its company' },
    { in: 'formatPurpose', text: 'filters.toSorted(), ', title: 'is valid for its company' },
    { in: 'formatPurpose', text: 'selection.search, ', title: 'is valid for its company' },
    { in: 'formatPurpose', text: 'parseColumnSort(sortBy)', without: 'null', title: 'is valid for its company' },
  ]),
  ...makeGuards('src/modules/managed-tables/page.ts', CURSOR_TESTS, [
    {
      in: 'selectPageAfter',
      text: 'afterPosition.type !== getOrderType(page.order)',
      without: 'false',
      title: 'is refused when its column was converted',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/export.ts', EXPORT_TESTS, [
    {
      text: 'exportStart.schemaVersion !== table.schemaVersion',
      without: 'false',
      tests: EXPORT_CHANGE_TESTS,
      title: 'values of an export have the type',
    },
    { text: "isolation: 'repeatable read',", title: 'shows the rows of one moment' },
  ]),
  ...makeGuards('src/modules/managed-tables/export-store.ts', EXPORT_TESTS, [
    {
      in: 'beginExport',
      text: 'lockShape(table)',
      without: "{ text: 'SELECT 1', values: [] }",
      tests: EXPORT_CHANGE_TESTS,
      title: 'is complete before',
    },
    {
      in: 'LOCK_EXPORT_SLOT_SQL',
      text: ' WHERE pg_try_advisory_xact_lock(${EXPORT_LOCK_KEY}, place)',
      title: 'others of the company are read',
    },
  ]),
  ...makeGuards('src/modules/managed-database/migrations/0005_row_count_changes.ts', ROW_COUNT_TESTS, [
    { text: ' FOR NO KEY UPDATE SKIP LOCKED', title: 'side by side' },
    {
      text: 'WHEN (NEW.count_version = OLD.count_version)',
      without: 'WHEN (false)',
      title: 'even with pending count changes',
    },
  ]),
  ...makeGuards('src/modules/managed-database/migrations/0001_managed_tables.ts', TABLE_TESTS, [
    { text: 'UNIQUE INDEX managed_tables_display_name', without: 'INDEX managed_tables_display_name' },
  ]),
  ...makeGuards('src/modules/managed-database/migrations/0001_upload_jobs.ts', UPLOAD_RACE_TESTS, [
    {
      text: 'UNIQUE INDEX upload_jobs_name',
      without: 'INDEX upload_jobs_name',
      title: 'the confirmation of an upload job',
    },
  ]),
  ...makeGuards('src/modules/uploads/job-store.ts', UPLOAD_TESTS, [
    {
      in: 'finishFetch',
      text: ' AND step = $3',
      without: ' AND $3::int IS NOT NULL',
      tests: ['test/uploads/from-url.managed-tables.test.ts'],
      title: 'is cancelled before piece',
    },
    { in: 'claimJob', text: " AND (status = $3 OR (status = 'queued' AND $3 = 'analisando'))" },
    {
      in: 'claimJob',
      text: ' < $5 AS may_run',
      without: ' < $5 + 1000 AS may_run',
      tests: UPLOAD_TURN_TESTS,
      title: 'does not delay another company’s upload',
    },
    {
      in: 'releaseJob',
      text: ' AND turn_until = $3',
      without: ' AND $3::timestamptz IS NOT NULL',
      tests: UPLOAD_TURN_TESTS,
      title: 'keeps the turn of a delivery',
    },
    {
      in: 'advanceJob',
      text: ' AND step = $3',
      without: ' AND $3::int IS NOT NULL',
      tests: DELIVERY_TESTS,
      title: 'is not changed by a delivery that another delivery overtakes in the analysis',
    },
    {
      in: 'buildGuardedAdvance',
      text: ' AND step = ${Math.trunc(step)}',
      tests: DELIVERY_TESTS,
      title: 'loads each chunk once',
    },
    { in: 'buildGuardedAdvance', text: ' FOR UPDATE' },
    {
      in: 'finishAnalysis',
      text: ' AND step = $3',
      without: ' AND $3::int IS NOT NULL',
      tests: UPLOAD_RACE_TESTS,
      title: 'stays cancelled',
    },
  ]),
  ...makeGuards('src/modules/uploads/resumable-store.ts', RESUMABLE_RACE_TESTS, [
    {
      text: 'pg_advisory_xact_lock',
      without: 'abs',
      title: 'can begin only one more upload when two are begun at once',
    },
    {
      in: 'insertUpload',
      text: 'count(*)',
      without: '0 * count(*)',
      title: 'can begin only one more upload when two are begun at once',
    },
    {
      in: 'claimUpload',
      text: ' AND NOT is_finished',
      tests: ['test/uploads/resumable.managed-tables.test.ts'],
      title: 'answers the upload where no byte is sent',
    },
    {
      in: 'claimUpload',
      text: 'AND updated_at > $6 ',
      without: 'AND $6 <> $4 ',
      title: 'answers 404 before it is swept',
    },
    {
      in: 'claimUpload',
      text: ' AND received = $7',
      without: ' AND $7 >= 0',
      tests: ['test/uploads/resumable.managed-tables.test.ts'],
      title: 'bytes of another type',
    },
    {
      in: 'claimUpload',
      text: '(writer IS NULL OR writer_until < now())',
      without: 'true',
      title: 'two requests at once',
    },
    { in: 'saveClaimedProgress', text: ' AND writer = $4', without: ' AND $4 <> $1', title: 'wakes up late' },
    { in: 'endClaim', text: ' AND writer = $4', without: ' AND $4 <> $1', title: 'ends late' },
    { in: 'finishUpload', text: ' AND NOT is_finished', title: 'has one job' },
    {
      in: 'deleteUpload',
      text: ' AND updated_at > $4',
      without: ' AND $4 <> $1',
      title: 'answers 404 before it is swept',
    },
    {
      in: 'deleteExpiredUploads',
      text: 'WHERE updated_at <= $2 AND id IN',
      without: 'WHERE id IN',
      title: 'while it is swept',
    },
  ]),
  ...makeGuards('src/modules/uploads/sweep.ts', RESUMABLE_RACE_TESTS, [
    {
      text: 'if (unfinishedIds.has(id)) continue;',
      title: 'keeps its files while bytes still arrive, even if it was begun more than a day ago',
    },
  ]),
  ...makeGuards('src/modules/uploads/resumable.ts', RESUMABLE_RACE_TESTS, [
    { text: 'if (!deletedUpload.isFinished)', without: 'if (true)', title: 'keeps its bytes' },
    {
      text: 'if (finishedUpload) await',
      without: 'await',
      title: 'creates no job when it was deleted just before its last byte was stored',
    },
  ]),
  ...makeGuards('src/modules/uploads/store.ts', UPLOAD_TESTS, [
    { in: 'lockJob', text: ' FOR UPDATE', tests: UPLOAD_RACE_TESTS, title: 'keeps another delivery' },
    {
      in: 'confirmJob',
      text: " AND status = 'waiting_confirm' AND updated_at = $6",
      tests: UPLOAD_RACE_TESTS,
      title: 'the confirmation of an upload job',
    },
    {
      in: 'confirmJob',
      text: ' AND updated_at = $6',
      tests: REANALYSIS_TESTS,
      title: 'makes a later confirmation fail',
    },
    {
      in: 'startReanalysis',
      text: " AND status = 'waiting_confirm'",
      tests: REANALYSIS_TESTS,
      title: 'comes just before it',
    },
  ]),
  ...makeGuards('src/modules/uploads/publish.ts', UPLOAD_TESTS, [
    {
      text: 'lockedJob?.step !== job.stepNumber',
      without: 'false',
      tests: UPLOAD_RACE_TESTS,
      title: 'publishes first',
    },
    { text: '!areColumnsUnchanged', without: 'false', tests: UPLOAD_RACE_TESTS, title: 'columns of its table' },
  ]),
  ...makeGuards('src/modules/uploads/load-store.ts', UNDO_RACE_TESTS, [
    { in: 'lockLoad', text: ' FOR UPDATE', title: 'keeps another undo waiting' },
    { in: 'selectLastLoad', text: ' AND undone_at IS NULL', tests: UNDO_TESTS, title: 'one after the other' },
  ]),
  ...makeGuards('src/modules/uploads/upsert.ts', UPSERT_TESTS, [
    { text: 'await tx.execute(buildLockAgainstWrites(table.displayName));', title: 'meanwhile' },
  ]),
  ...makeGuards('src/modules/managed-tables/indexes.ts', UPSERT_TESTS, [
    {
      in: 'requireUniqueIndex',
      text: '!(await store.tryLockForTransaction(tx, tableId))',
      without: 'false',
      title: 'creates no more than ten indexes when another request creates an index at the same moment',
    },
  ]),
  ...makeGuards('src/modules/uploads/undo.ts', UNDO_RACE_TESTS, [
    { text: 'load.undoneAt !== null', without: 'false', title: 'finds it undone' },
    { text: 'load.jobId !== lastLoadId', without: 'false', title: 'comes before a load in the mode' },
    { text: "? 'shape' : 'rows'", without: "? 'row' : 'row'", title: 'an insert of rows' },
    { text: ' || load.evolved', tests: EVOLUTION_TESTS, title: 'is undone before an insert' },
    { text: 'load.loadNumber > limit.loadNumber', without: 'true', title: 'first, and otherwise succeeds' },
    {
      text: 'await tx.execute(buildLockKeptRows(load.jobId))',
      without: 'await Promise.resolve()',
      title: 'dropped just before',
    },
  ]),
  ...makeGuards('src/modules/uploads/fail-job.ts', UPLOAD_TESTS, [
    { text: 'lockedJob?.step !== step', without: '!lockedJob', tests: UPLOAD_RACE_TESTS, title: 'waited too long' },
  ]),
  ...makeGuards(
    'src/modules/managed-database/migrations.ts',
    ['test/tenant-sql/client.test.ts'],
    [
      {
        in: 'migrateDatabase',
        text: "await tx.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK_KEY]);",
        title: 'run once, however many',
      },
    ],
  ),
];
