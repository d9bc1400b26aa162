/** A tensor: `data` is the typed array of its dtype (bool and uint8 Uint8Array, int64 BigInt64Array), row-major. */
export interface TensorValue {
  dtype: string;
  shape: number[];
  data: ArrayBufferView;
}
