import type { raw } from '@neon/sdk';
import type { NeonProject } from './projects.ts';

const ZERO_USAGE = {
  data_storage_bytes_hour: 0,
  data_transfer_bytes: 0,
  written_data_bytes: 0,
  compute_time_seconds: 0,
  active_time_seconds: 0,
  cpu_used_sec: 0,
};

/** Makes the members that a project has in every answer. */
const viewCommonMembers = (project: NeonProject) => ({
  id: project.id,
  platform_id: 'local',
  region_id: project.regionId,
  name: project.name,
  provisioner: 'k8s-neonvm',
  pg_version: 18,
  proxy_host: 'neon.localhost',
  branch_logical_size_limit: 0,
  branch_logical_size_limit_bytes: 0,
  store_passwords: true,
  creation_source: 'console',
  created_at: project.createdAt,
  updated_at: project.createdAt,
  owner_id: 'local',
});

/** Makes the project in the answer of `GET /projects/{id}`. */
export const viewProject = (project: NeonProject): raw.Project => ({
  ...ZERO_USAGE,
  ...viewCommonMembers(project),
  history_retention_seconds: project.historySeconds,
  consumption_period_start: project.createdAt,
  consumption_period_end: project.createdAt,
  default_endpoint_settings: {
    autoscaling_limit_min_cu: project.minUnits,
    autoscaling_limit_max_cu: project.maxUnits,
  },
});

/** Makes the project in the answer of `GET /projects`. */
export const viewListedProject = (project: NeonProject): raw.ProjectListItem => ({
  ...viewCommonMembers(project),
  active_time: 0,
  cpu_used_sec: 0,
});

/** Makes the operations of a project's creation; `running` until they end. `now` in milliseconds. */
export function viewOperations(project: NeonProject, now: number): raw.Operation[] {
  return project.operations.map((operation) => ({
    id: operation.id,
    project_id: project.id,
    branch_id: project.branchId,
    endpoint_id: project.endpointId,
    action: operation.action,
    status: now < operation.endsAt ? 'running' : 'finished',
    failures_count: 0,
    created_at: project.createdAt,
    updated_at: project.createdAt,
    total_duration_ms: 0,
  }));
}

/** Makes the owner's connection string. */
export function makeConnectionUri(project: NeonProject): string {
  const { role, password, host, database } = project;
  return `postgresql://${encodeURIComponent(role)}:${encodeURIComponent(password)}@${host}/${encodeURIComponent(database)}?sslmode=require`;
}

/** Makes the answer to `POST /projects`. `now` in milliseconds. */
export function viewCreatedProject(project: NeonProject, now: number): raw.CreateProjectResponses[201] {
  const timestamps = { created_at: project.createdAt, updated_at: project.createdAt };
  return {
    project: viewProject(project),
    connection_uris: [
      {
        connection_uri: makeConnectionUri(project),
        connection_parameters: {
          database: project.database,
          password: project.password,
          role: project.role,
          host: project.host,
          pooler_host: project.host.replace('.', '-pooler.'),
        },
      },
    ],
    roles: [
      { branch_id: project.branchId, name: project.role, password: project.password, protected: false, ...timestamps },
    ],
    databases: [
      { id: 1, branch_id: project.branchId, name: project.database, owner_name: project.role, ...timestamps },
    ],
    operations: viewOperations(project, now),
    branch: {
      ...ZERO_USAGE,
      id: project.branchId,
      project_id: project.id,
      name: 'main',
      current_state: 'ready',
      state_changed_at: project.createdAt,
      creation_source: 'console',
      primary: true,
      default: true,
      protected: false,
      ...timestamps,
    },
    endpoints: [
      {
        id: project.endpointId,
        host: project.host,
        project_id: project.id,
        branch_id: project.branchId,
        autoscaling_limit_min_cu: project.minUnits,
        autoscaling_limit_max_cu: project.maxUnits,
        region_id: project.regionId,
        type: 'read_write',
        current_state: 'active',
        settings: {},
        pooler_enabled: false,
        pooler_mode: 'transaction',
        disabled: false,
        passwordless_access: true,
        creation_source: 'console',
        proxy_host: 'neon.localhost',
        suspend_timeout_seconds: 0,
        provisioner: 'k8s-neonvm',
        ...timestamps,
      },
    ],
  };
}
