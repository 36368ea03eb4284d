import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { UserActor } from '../../src/access/actors.ts';
import { compileAccess } from '../../src/access/evaluation.ts';
import type { KnownPrincipal, PresentedCredential } from '../../src/access/known-principals.ts';
import type { Config } from '../../src/config.ts';
import type { Context } from '../../src/context.ts';
import type { ControlDb } from '../../src/db/client.ts';
import { authenticatePrincipal } from '../../src/http/authentication.ts';
import { AccessVersions, MAX_CHANGE_MS } from '../../src/objects/access-versions.ts';
import { changeAccess } from '../../src/objects/change-access.ts';
import type { AdmissionRequest, AdmissionResult, OrganizationGate } from '../../src/objects/organization-gate.ts';
import { forgetPrincipals } from '../support/known-principals.ts';

const COMPANY_ID = 'company';
const PRINCIPAL_ID = 'principal';

/** Runs processes step by step, in an order that is given by choices of the next process. */
class StepScheduler {
  readonly #choices: number[];
  readonly #waitingSteps = new Map<number, () => void>();
  /** The number of processes that could continue, at each choice. */
  readonly readyCounts: number[] = [];

  constructor(choices: number[]) {
    this.#choices = choices;
  }

  /** Creates a process's steps: the work of a step runs when the scheduler chooses the process. */
  makeStep =
    (process: number) =>
    async <T>(work: () => T): Promise<T> => {
      await new Promise<void>((resolve) => this.#waitingSteps.set(process, resolve));
      return work();
    };

  async run(processes: Promise<unknown>[]): Promise<void> {
    const processesEnd = Promise.allSettled(processes);
    for (;;) {
      for (let tick = 0; tick < 40; tick += 1) await Promise.resolve();
      const readyProcesses = [...this.#waitingSteps.keys()].toSorted();
      if (readyProcesses.length === 0) break;
      const choice = this.#choices[this.readyCounts.length] ?? 0;
      this.readyCounts.push(readyProcesses.length);
      const process = readyProcesses[choice] as number;
      const continueStep = this.#waitingSteps.get(process) as () => void;
      this.#waitingSteps.delete(process);
      continueStep();
    }
    await Promise.race([processesEnd, Promise.resolve()]);
  }
}

/** Returns the next choices of a depth-first search; undefined after the last. */
function findNextChoices(choices: number[], readyCounts: number[]): number[] | undefined {
  const allChoices = readyCounts.map((_, index) => choices[index] ?? 0);
  for (let index = allChoices.length - 1; index >= 0; index -= 1) {
    if ((allChoices[index] as number) + 1 < (readyCounts[index] as number))
      return [...allChoices.slice(0, index), (allChoices[index] as number) + 1];
  }
  return undefined;
}

type RunStep = ReturnType<StepScheduler['makeStep']>;
type Fault = 'none' | 'lost after beginning' | 'lost after committing';

/** A model of a control database with one value, the gate of a company, and isolates that call both. */
class AccessModel {
  /** The value of the only record of the control database, as last committed. */
  committedValue = 0;
  /** The highest value of an answered change. */
  answeredValue = 0;
  /** Ids of changes that were announced to the gate and have not ended for it. */
  readonly #announcedChangeIds = new Set<string>();
  /** The problems that requests found. */
  readonly problems: string[] = [];
  #versions: AccessVersions;
  #gateNow = 1_000_000;

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

  /** Moves the gate's clock, and no other, beyond the duration of an announcement. */
  jumpGateClock(): void {
    this.#gateNow += MAX_CHANGE_MS + 1;
    this.#announcedChangeIds.clear();
  }

  #gates(runStep: RunStep, fault: Fault = 'none') {
    const waitForever = () => new Promise<never>(() => {});
    const limit = { limit: 1, remaining: 1, resetAt: 0, allowed: true };
    const gate = {
      admit: ({ principalId }: AdmissionRequest): Promise<AdmissionResult> =>
        runStep(() => ({
          refused: null,
          organization: limit,
          principal: limit,
          access: this.#versions.getVersion(principalId, this.#gateNow),
          key: null,
        })),
      beginChange: async (change: Parameters<OrganizationGate['beginChange']>[0]) => {
        await runStep(() => {
          this.#versions.beginChange(change, this.#gateNow);
          this.#announcedChangeIds.add(change.id);
        });
        if (fault === 'lost after beginning') await waitForever();
      },
      endChange: (change: Parameters<OrganizationGate['endChange']>[0]) =>
        runStep(() => {
          this.#versions.endChange(change);
          this.#announcedChangeIds.delete(change.id);
        }),
    };
    return { getByName: () => gate } as unknown as DurableObjectNamespace<OrganizationGate>;
  }

  /**
   * Sends a request from an isolate. It must see at least the value that was answered when it began, or that was committed while
   * a change is announced; and at most the committed value.
   */
  async request(isolate: string, runStep: RunStep, namesPrincipal: boolean): Promise<void> {
    const minValue = await runStep(() =>
      this.#announcedChangeIds.size > 0 ? this.committedValue : this.answeredValue,
    );
    const presented: PresentedCredential = {
      credential: `${isolate} ${namesPrincipal}`,
      claims: namesPrincipal
        ? { companyId: COMPANY_ID, type: 'user', principalId: PRINCIPAL_ID, credentialId: 's' }
        : null,
      matchesPrincipal: async () => true,
      readPrincipal: () => runStep(() => toKnownPrincipal(this.committedValue)),
      recordUse: () => {},
    };
    const ctx = {
      config: { RATE_LIMIT_ORGANIZATION_PER_MINUTE: 1, RATE_LIMIT_PRINCIPAL_PER_MINUTE: 1 } as Config,
      bindings: { ORGANIZATION_GATE: this.#gates(runStep) },
      correlationId: 'model',
      now: () => 0,
      setOwner: () => {},
    } as unknown as Context;
    const { actor } = await authenticatePrincipal(ctx, presented, []);
    const seenValue = Number((actor as UserActor).name);
    if (seenValue < minValue || seenValue > this.committedValue)
      this.problems.push(`saw ${seenValue} after ${minValue} was answered`);
  }

  /** Makes a change of access, which is answered once it has ended. */
  async change(runStep: RunStep, fault: Fault, principals: readonly string[] | 'everybody'): Promise<void> {
    const db = { $client: { runAccessChange: (_: number, work: () => Promise<unknown>) => work() } };
    await changeAccess(
      { db: db as unknown as ControlDb, gates: this.#gates(runStep, fault) },
      { companyId: COMPANY_ID, principals },
      async () => {
        const value = await runStep(() => {
          this.committedValue += 1;
          return this.committedValue;
        });
        if (fault === 'lost after committing') await new Promise<never>(() => {});
        return value;
      },
    ).then((value) => {
      this.answeredValue = Math.max(this.answeredValue, value);
    });
  }
}

function toKnownPrincipal(value: number): KnownPrincipal {
  const access = compileAccess({ companyId: COMPANY_ID, isOwner: false, groups: [] });
  const actor: UserActor = {
    kind: 'user',
    id: PRINCIPAL_ID,
    companyId: COMPANY_ID,
    companySlug: 'c',
    email: '',
    name: String(value),
    isOwner: false,
    sessionId: 's',
    access,
  };
  return { actor, expiresAt: Number.MAX_SAFE_INTEGER, proof: null };
}

/** A process that runs concurrently with others. */
type ModelProcess = (accessModel: AccessModel, runStep: RunStep) => Promise<void>;

const makeRequests =
  (isolate: string, count: number, namesPrincipal = true): ModelProcess =>
  async (accessModel, runStep) => {
    for (let index = 0; index < count; index += 1) await accessModel.request(isolate, runStep, namesPrincipal);
  };
const makeChange =
  (principals: readonly string[] | 'everybody', fault: Fault = 'none'): ModelProcess =>
  (accessModel, runStep) =>
    accessModel.change(runStep, fault, principals);
const chainProcesses =
  (...processes: ModelProcess[]): ModelProcess =>
  async (accessModel, runStep) => {
    for (const runProcess of processes) await runProcess(accessModel, runStep);
  };
const restartProcess: ModelProcess = (accessModel, runStep) => runStep(() => accessModel.restartGate());
const clockJumpProcess: ModelProcess = (accessModel, runStep) => runStep(() => accessModel.jumpGateClock());

/** Runs the processes in every order of their steps, each followed by requests of each isolate. @returns the number of orders */
async function runInEveryOrder(sql: SqlStorage, processes: ModelProcess[], isolates: string[]): Promise<number> {
  let choices: number[] | undefined = [];
  let runCount = 0;
  while (choices) {
    forgetPrincipals();
    const accessModel = new AccessModel(sql);
    const scheduler: StepScheduler = new StepScheduler(choices);
    await scheduler.run(processes.map((runProcess, index) => runProcess(accessModel, scheduler.makeStep(index))));
    // Whoever was lost left an announcement that has run out by now, and what it had committed holds for all.
    accessModel.jumpGateClock();
    accessModel.answeredValue = accessModel.committedValue;
    const finalScheduler = new StepScheduler([]);
    await finalScheduler.run(
      isolates.flatMap((isolate, index) => makeRequests(isolate, 2)(accessModel, finalScheduler.makeStep(index))),
    );
    expect(accessModel.problems, `in the order ${choices.join(' ')}`).toEqual([]);
    runCount += 1;
    choices = findNextChoices(choices, scheduler.readyCounts);
  }
  return runCount;
}

describe('the access of a principal that an isolate has cached', () => {
  const AFFECTED_PRINCIPALS = [[PRINCIPAL_ID], 'everybody'] as const;
  const FAULTS: Fault[] = ['none', 'lost after beginning', 'lost after committing'];
  const SCENARIOS: [
    name: string,
    processes: (principals: (typeof AFFECTED_PRINCIPALS)[number], fault: Fault) => ModelProcess[],
  ][] = [
    ['two isolates', (of, fault) => [makeRequests('a', 1), makeRequests('b', 1), makeChange(of, fault)]],
    ['a gate that restarts', (of, fault) => [makeRequests('a', 2), makeChange(of, fault), restartProcess]],
    // Not also an isolate that is lost after it: what it commits then is told by nobody. The database's clock forbids it.
    ['a gate whose clock jumps', (of, fault) => [makeRequests('a', 2), makeChange(of, fault), clockJumpProcess]],
    ['two changes', (of, fault) => [makeRequests('a', 1), makeChange(of, fault), makeChange('everybody')]],
    [
      'two changes and a credential that does not name its principal',
      (of, fault) => [makeRequests('k', 2, false), chainProcesses(makeChange(of), makeChange(of, fault))],
    ],
    [
      'a credential that does not name its principal',
      (of, fault) => [makeRequests('k', 3, false), makeChange(of, fault)],
    ],
  ];
  const CASES = SCENARIOS.flatMap(([name, processes]) =>
    AFFECTED_PRINCIPALS.flatMap((affected) =>
      FAULTS.filter((fault) => !(name.includes('clock') && fault === 'lost after committing')).map((fault) => ({
        name,
        fault,
        affected: String(affected),
        processes: () => processes(affected, fault),
      })),
    ),
  );

  it.each(CASES)(
    'is as recent as the last answered change, with $name, a change of $affected and the changer’s fault: $fault',
    async ({ processes }) => {
      const runs = await runInDurableObject(env.ORGANIZATION_GATE.getByName('model'), (_, state) =>
        runInEveryOrder(state.storage.sql, processes(), ['a', 'b']),
      );
      expect(runs).toBeGreaterThan(3);
    },
  );
});
