// One recorded episode as the page needs it: the numbers of one agent, frame by frame.

/** With several agents each frame holds a list of theirs; `depth` says how many lists deep one agent's number lies. */
function ofAgent(frames, agent, depth) {
  if (!frames) return null;
  const sample = frames.find((frame) => frame !== null);
  const isShared = depthOf(sample) > depth;
  return isShared ? frames.map((frame) => frame?.[agent] ?? null) : frames;
}

const depthOf = (value) => (Array.isArray(value) ? 1 + depthOf(value[0]) : 0);

export function episodeOf(answer, agent) {
  const { actions, atoms } = answer;
  return {
    length: answer.length,
    fps: answer.fps || 5,
    reward: ofAgent(answer.reward, agent, 0),
    value: ofAgent(answer.value, agent, 0),
    actions: actions && {
      names: depthOf(actions.names) > 1 ? actions.names[agent] : actions.names,
      probability: ofAgent(actions.probability, agent, 1),
      taken: ofAgent(actions.taken, agent, 0),
    },
    atoms: atoms && { support: atoms.support, probability: ofAgent(atoms.probability, agent, 1) },
  };
}

/** Sums of the rewards so far. */
export function returns(reward) {
  let sum = 0;
  return reward.map((one) => (sum += one ?? 0));
}
