import * as product from '../../src/api.ts';
import type { Bindings } from '../../src/config.ts';
import { meterEnvironment } from './environment.ts';
import { addUse, countCursorRows } from './meter.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a class made of another one takes, in TypeScript.
type ObjectClass = new (...args: any[]) => { alarm?(): void | Promise<void> };

let isStorageWatched = false;

/** Counts the rows that the storage of every object uses; a call for which the platform reports no count is one row. */
function watchStorage({ storage }: DurableObjectState): void {
  if (isStorageWatched) return;
  isStorageWatched = true;
  const sql = Object.getPrototypeOf(storage.sql);
  const { exec } = sql;
  sql.exec = function counted(this: SqlStorage, ...args: unknown[]) {
    const cursor = exec.apply(this, args);
    countCursorRows('objects', cursor);
    return cursor;
  };
  const rows: [object: object, name: string, used: string][] = [
    [Object.getPrototypeOf(storage), 'setAlarm', 'objects.rowsWritten'],
    [Object.getPrototypeOf(storage), 'put', 'objects.rowsWritten'],
    [Object.getPrototypeOf(storage), 'get', 'objects.rowsRead'],
    [Object.getPrototypeOf(storage.kv), 'put', 'objects.rowsWritten'],
    [Object.getPrototypeOf(storage.kv), 'get', 'objects.rowsRead'],
  ];
  for (const [object, name, useKind] of rows) {
    const call = Reflect.get(object, name);
    Reflect.set(object, name, function counted(this: unknown, ...args: unknown[]) {
      addUse(useKind);
      return Reflect.apply(call, this, args);
    });
  }
}

/** Returns the class with its objects' use counted. */
const meterClass = <C extends ObjectClass>(ProductClass: C) =>
  class extends ProductClass {
    // biome-ignore lint/suspicious/noExplicitAny: see `ObjectClass`.
    constructor(...[state, env]: any[]) {
      watchStorage(state);
      super(state, meterEnvironment(env as Bindings));
    }

    override async alarm(): Promise<void> {
      addUse('objects.requests');
      addUse('objects.requests.alarms');
      await super.alarm?.();
    }
  };

export const AttemptLimiter = meterClass(product.AttemptLimiter);
export const CompanyLog = class extends meterClass(product.CompanyLog) {
  /** Moves records that are old enough to R2, as the log's alarm does. */
  async move(): Promise<void> {
    await this.alarm();
  }
};
export const IpLimiter = meterClass(product.IpLimiter);
export const OrganizationGate = meterClass(product.OrganizationGate);
export const TokenLimiter = meterClass(product.TokenLimiter);
export const ViewerGate = meterClass(product.ViewerGate);
export const WebhookSender = meterClass(product.WebhookSender);
