import type { ZoneEdges } from '../../formats/values/conversion.ts';
import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';

/** Tells whether Postgres knows a time zone of this name. JavaScript knows some that Postgres does not. */
export async function isTimeZoneKnown(tx: TenantTx, zone: string): Promise<boolean> {
  try {
    await tx.query('SELECT now() AT TIME ZONE $1::text', [zone]);
    return true;
  } catch (error) {
    if (isPostgresError(error) && error.code === '22023') return false;
    throw error;
  }
}

/** Reads the range of a time zone's local times that lie within the years 1 to 9999 in UTC (see `ZoneEdges`). */
export async function findZoneEdges(tx: TenantTx, zone: string): Promise<ZoneEdges> {
  const [row] = await tx.query<{ first: string; last: string }>(
    `SELECT extract(epoch FROM timestamp '0001-01-02' - (timestamptz '0001-01-02 00:00:00Z' AT TIME ZONE $1::text)) AS first,
       extract(epoch FROM timestamp '9999-12-31' - (timestamptz '9999-12-31 00:00:00Z' AT TIME ZONE $1::text)) AS last`,
    [zone],
  );
  const DAY_SECONDS = 24 * 60 * 60;
  return { firstSecond: Math.max(0, -Number(row?.first)), endSecond: DAY_SECONDS - Math.max(0, Number(row?.last)) };
}
