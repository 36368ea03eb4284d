import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { UserActor } from '../../src/access/actors.ts';
import { compileAccess } from '../../src/access/evaluation.ts';
import type { KnownPrincipal, PresentedCredential } from '../../src/access/known-principals.ts';
import type { Config } from '../../src/config.ts';
import type { Context } from '../../src/context.ts';
import type { ControlDb } from '../../src/db/client.ts';
import { authenticatePrincipal } from '../../src/http/authentication.ts';
import { AccessVersions, CHANGE_MS } from '../../src/objects/access-versions.ts';
import { changeAccess } from '../../src/objects/change-access.ts';
import type { Admission, Admittance, OrganizationGate } from '../../src/objects/organization-gate.ts';
import { forgetPrincipals } from '../support/known-principals.ts';

const COMPANY = 'company';
const PRINCIPAL = 'principal';

/** Everything that can happen next, one step of each process. */
class Interleaving {
  readonly #choices: number[];
  readonly #waiting = new Map<number, () => void>();
  /** How many could have gone on, at each choice. */
  readonly widths: number[] = [];

  constructor(choices: number[]) {
    this.#choices = choices;
  }

  /** A step of a process: what it does to the world happens when its turn comes. */
  stepOf =
    (process: number) =>
    async <T>(work: () => T): Promise<T> => {
      await new Promise<void>((resolve) => this.#waiting.set(process, resolve));
      return work();
    };

  async run(processes: Promise<unknown>[]): Promise<void> {
    const done = Promise.allSettled(processes);
    for (;;) {
      for (let tick = 0; tick < 40; tick += 1) await Promise.resolve();
      const ready = [...this.#waiting.keys()].toSorted();
      if (ready.length === 0) break;
      const choice = this.#choices[this.widths.length] ?? 0;
      this.widths.push(ready.length);
      const process = ready[choice] as number;
      const go = this.#waiting.get(process) as () => void;
      this.#waiting.delete(process);
      go();
    }
    await Promise.race([done, Promise.resolve()]);
  }
}

/** The choices that come after these, in the order of a depth-first search; undefined after the last. */
function findNextChoices(choices: number[], widths: number[]): number[] | undefined {
  const full = widths.map((_, index) => choices[index] ?? 0);
  for (let index = full.length - 1; index >= 0; index -= 1) {
    if ((full[index] as number) + 1 < (widths[index] as number))
      return [...full.slice(0, index), (full[index] as number) + 1];
  }
  return undefined;
}

type Step = ReturnType<Interleaving['stepOf']>;
type Fault = 'none' | 'lost after beginning' | 'lost after committing';

/** A control database with one value, the gate of a company, and isolates that ask both. */
class World {
  /** What the database holds, what an answer has told, and what the requests saw. */
  committed = 0;
  answered = 0;
  /** Changes that the gate has been told of, and takes to be under way. */
  readonly #underWay = new Set<string>();
  readonly problems: string[] = [];
  #versions: AccessVersions;
  #now = 1_000_000;

  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    // The gate makes its tables when it is asked.
    new AccessVersions(sql);
    sql.exec('DELETE FROM access_versions');
    sql.exec('DELETE FROM access_changes');
    this.#versions = new AccessVersions(sql);
  }

  restartGate(): void {
    this.#versions = new AccessVersions(this.#sql);
  }

  /** As long as an announcement holds, by the clock of the gate alone. */
  jumpGateClock(): void {
    this.#now += CHANGE_MS + 1;
    this.#underWay.clear();
  }

  #gates(step: Step, fault: Fault = 'none') {
    const lost = () => new Promise<never>(() => {});
    const limit = { limit: 1, remaining: 1, resetAt: 0, allowed: true };
    const gate = {
      admit: ({ principalId }: Admission): Promise<Admittance> =>
        step(() => ({
          refused: null,
          organization: limit,
          principal: limit,
          access: this.#versions.getStamp(principalId, this.#now),
          key: null,
        })),
      beginChange: async (change: Parameters<OrganizationGate['beginChange']>[0]) => {
        await step(() => {
          this.#versions.begin(change, this.#now);
          this.#underWay.add(change.id);
        });
        if (fault === 'lost after beginning') await lost();
      },
      endChange: (change: Parameters<OrganizationGate['endChange']>[0]) =>
        step(() => {
          this.#versions.end(change);
          this.#underWay.delete(change.id);
        }),
    };
    return { getByName: () => gate } as unknown as DurableObjectNamespace<OrganizationGate>;
  }

  /**
   * A request of an isolate. It may see no less than had been answered when it began, or than was committed while a change is
   * under way; and no more than is committed.
   */
  async request(isolate: string, step: Step, saysWhose: boolean): Promise<void> {
    const least = await step(() => (this.#underWay.size > 0 ? this.committed : this.answered));
    const presented: PresentedCredential = {
      credential: `${isolate} ${saysWhose}`,
      claims: saysWhose ? { companyId: COMPANY, type: 'user', principalId: PRINCIPAL, credentialId: 's' } : null,
      fits: async () => true,
      read: () => step(() => toKnownPrincipal(this.committed)),
      recordUse: () => {},
    };
    const ctx = {
      config: { RATE_LIMIT_ORGANIZATION_PER_MINUTE: 1, RATE_LIMIT_PRINCIPAL_PER_MINUTE: 1 } as Config,
      bindings: { ORGANIZATION_GATE: this.#gates(step) },
      correlationId: 'model',
      now: () => 0,
      setOwner: () => {},
    } as unknown as Context;
    const { actor } = await authenticatePrincipal(ctx, presented, []);
    const seen = Number((actor as UserActor).name);
    if (seen < least || seen > this.committed) this.problems.push(`saw ${seen} after ${least} was answered`);
  }

  /** A change of access, answered when it is over. */
  async change(step: Step, fault: Fault, principals: readonly string[] | 'everybody'): Promise<void> {
    const db = { $client: { runAccessChange: (_: number, work: () => Promise<unknown>) => work() } };
    await changeAccess(
      { db: db as unknown as ControlDb, gates: this.#gates(step, fault) },
      { companyId: COMPANY, principals },
      async () => {
        const value = await step(() => {
          this.committed += 1;
          return this.committed;
        });
        if (fault === 'lost after committing') await new Promise<never>(() => {});
        return value;
      },
    ).then((value) => {
      this.answered = Math.max(this.answered, value);
    });
  }
}

function toKnownPrincipal(value: number): KnownPrincipal {
  const access = compileAccess({ companyId: COMPANY, isOwner: false, groups: [] });
  const actor: UserActor = {
    kind: 'user',
    id: PRINCIPAL,
    companyId: COMPANY,
    companySlug: 'c',
    email: '',
    name: String(value),
    isOwner: false,
    sessionId: 's',
    access,
  };
  return { actor, expiresAt: Number.MAX_SAFE_INTEGER, proof: null };
}

/** What takes place side by side. */
type Process = (world: World, step: Step) => Promise<void>;

const requests =
  (isolate: string, count: number, saysWhose = true): Process =>
  async (world, step) => {
    for (let index = 0; index < count; index += 1) await world.request(isolate, step, saysWhose);
  };
const commitChange =
  (principals: readonly string[] | 'everybody', fault: Fault = 'none'): Process =>
  (world, step) =>
    world.change(step, fault, principals);
const runInTurn =
  (...processes: Process[]): Process =>
  async (world, step) => {
    for (const process of processes) await process(world, step);
  };
const restart: Process = (world, step) => step(() => world.restartGate());
const clockJump: Process = (world, step) => step(() => world.jumpGateClock());

/** Runs the processes in every order of their steps; then a request of each isolate, when all is over. */
async function runInEveryOrder(sql: SqlStorage, processes: Process[], isolates: string[]): Promise<number> {
  let choices: number[] | undefined = [];
  let runs = 0;
  while (choices) {
    forgetPrincipals();
    const world = new World(sql);
    const order: Interleaving = new Interleaving(choices);
    await order.run(processes.map((process, index) => process(world, order.stepOf(index))));
    // Whoever was lost left an announcement that has run out by now, and what it had committed holds for all.
    world.jumpGateClock();
    world.answered = world.committed;
    const after = new Interleaving([]);
    await after.run(isolates.flatMap((isolate, index) => requests(isolate, 2)(world, after.stepOf(index))));
    expect(world.problems, `in the order ${choices.join(' ')}`).toEqual([]);
    runs += 1;
    choices = findNextChoices(choices, order.widths);
  }
  return runs;
}

describe('the access of a principal that an isolate has cached', () => {
  const AFFECTED = [[PRINCIPAL], 'everybody'] as const;
  const FAULTS: Fault[] = ['none', 'lost after beginning', 'lost after committing'];
  const SCENARIOS: [name: string, processes: (principals: (typeof AFFECTED)[number], fault: Fault) => Process[]][] = [
    ['two isolates', (of, fault) => [requests('a', 1), requests('b', 1), commitChange(of, fault)]],
    ['a gate that restarts', (of, fault) => [requests('a', 2), commitChange(of, fault), restart]],
    // Not also an isolate that is lost after it: what it commits then is told by nobody. The database's clock forbids it.
    ['a gate whose clock jumps', (of, fault) => [requests('a', 2), commitChange(of, fault), clockJump]],
    ['two changes', (of, fault) => [requests('a', 1), commitChange(of, fault), commitChange('everybody')]],
    [
      'two changes and a credential that does not name its principal',
      (of, fault) => [requests('k', 2, false), runInTurn(commitChange(of), commitChange(of, fault))],
    ],
    [
      'a credential that does not name its principal',
      (of, fault) => [requests('k', 3, false), commitChange(of, fault)],
    ],
  ];
  const CASES = SCENARIOS.flatMap(([name, processes]) =>
    AFFECTED.flatMap((affected) =>
      FAULTS.filter((fault) => !(name.includes('clock') && fault === 'lost after committing')).map((fault) => ({
        name,
        fault,
        affected: String(affected),
        processes: () => processes(affected, fault),
      })),
    ),
  );

  it.each(CASES)(
    'is as new as the last answered change, with $name, a change of $affected and the changer’s fault: $fault',
    async ({ processes }) => {
      const runs = await runInDurableObject(env.ORGANIZATION_GATE.getByName('model'), (_, state) =>
        runInEveryOrder(state.storage.sql, processes(), ['a', 'b']),
      );
      expect(runs).toBeGreaterThan(3);
    },
  );
});
