/** dsh-agent-loop-host/testing: the contract that every lane engine is held to. Imports no test runner. */
export {
  laneEngineContract,
  type LaneEngineContractOptions,
  type LaneMedium,
  type LaneSettings,
} from './lane-engine-contract.ts'
export {
  LaneSeat,
  type Companion,
  type LaneEngine,
  type LaneEngineEvents,
  type LaneWish,
} from '../engines/lane-engine.ts'
