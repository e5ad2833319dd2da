"""courtside for other tools: our worlds as Gymnasium and PettingZoo envs."""
