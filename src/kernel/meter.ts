/** Counts the resources used by one request, message or run; they are recorded when it ends. */
export class Meter {
  executionCount = 0;
  /** Whether the usage was recorded already: later usage must be recorded separately. */
  isRecorded = false;
}
