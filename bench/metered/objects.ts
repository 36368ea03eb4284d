import * as product from '../../src/api.ts';
import type { Bindings } from '../../src/config.ts';
import { meterEnvironment } from './environment.ts';
import { addUse, useCursor } from './meter.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a class made of another one takes, in TypeScript.
type Class = new (...given: any[]) => { alarm?(): void | Promise<void> };

let isWatched = false;

/** Counts what the storage of every object does, by the platform's own count; what keeps no count is one row a call. */
function watchStorage({ storage }: DurableObjectState): void {
  if (isWatched) return;
  isWatched = true;
  const sql = Object.getPrototypeOf(storage.sql);
  const { exec } = sql;
  sql.exec = function counted(this: SqlStorage, ...given: unknown[]) {
    const cursor = exec.apply(this, given);
    useCursor('objects', cursor);
    return cursor;
  };
  const rows: [object: object, name: string, used: string][] = [
    [Object.getPrototypeOf(storage), 'setAlarm', 'objects.rowsWritten'],
    [Object.getPrototypeOf(storage), 'put', 'objects.rowsWritten'],
    [Object.getPrototypeOf(storage), 'get', 'objects.rowsRead'],
    [Object.getPrototypeOf(storage.kv), 'put', 'objects.rowsWritten'],
    [Object.getPrototypeOf(storage.kv), 'get', 'objects.rowsRead'],
  ];
  for (const [object, name, used] of rows) {
    const call = Reflect.get(object, name);
    Reflect.set(object, name, function counted(this: unknown, ...given: unknown[]) {
      addUse(used);
      return Reflect.apply(call, this, given);
    });
  }
}

/** The class with what its objects use counted. */
const watchClass = <C extends Class>(Product: C) =>
  class extends Product {
    // biome-ignore lint/suspicious/noExplicitAny: see `Class`.
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

export const AttemptLimiter = watchClass(product.AttemptLimiter);
export const CompanyLog = class extends watchClass(product.CompanyLog) {
  /** Moves what has been kept for long enough, as its alarm does. */
  async move(): Promise<void> {
    await this.alarm();
  }
};
export const IpLimiter = watchClass(product.IpLimiter);
export const OrganizationGate = watchClass(product.OrganizationGate);
export const TokenLimiter = watchClass(product.TokenLimiter);
export const ViewerGate = watchClass(product.ViewerGate);
export const WebhookSender = watchClass(product.WebhookSender);
