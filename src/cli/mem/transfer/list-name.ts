/** The name of the list of exported rows, which tells the folder of an export too; help names it. */
export const LIST_NAME = "svc-export.jsonl";
