"""The Nature CNN in PyTorch: images per second, in minibatch steps of PPO or in forward passes.

    python cnn_torch.py --threads 2
    python cnn_torch.py --threads 2 --batch 8

The fastest eager form that we found on a CPU: images are kept as bytes, height x width x stack, so that a view of them
lies channels last without a copy, weights likewise; one fused Adam. On a GPU the bytes are there too.
"""

import cnn_task
import mad4pg_task as task
import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def begun(layer: nn.Module, gain: float) -> nn.Module:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class Net(nn.Module):
    """Convolutions, a dense layer, both heads on its features."""

    def __init__(self) -> None:
        super().__init__()
        root2 = 2**0.5
        self.torso = nn.Sequential(
            begun(nn.Conv2d(cnn_task.STACK, 32, 8, stride=4), root2),
            nn.ReLU(),
            begun(nn.Conv2d(32, 64, 4, stride=2), root2),
            nn.ReLU(),
            begun(nn.Conv2d(64, 64, 3), root2),
            nn.ReLU(),
            nn.Flatten(),
            begun(nn.Linear(64 * 7 * 7, 512), root2),
            nn.ReLU(),
        )
        self.policy = begun(nn.Linear(512, cnn_task.NUM_ACTIONS), 0.01)
        self.value = begun(nn.Linear(512, 1), 1.0)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """images: bytes [M, height, width, stack]"""
        hidden = self.torso(images.permute(0, 3, 1, 2).float() / 255)
        return self.policy(hidden), self.value(hidden)[:, 0]


def random_images(count: int) -> torch.Tensor:
    shape = (count, cnn_task.HEIGHT, cnn_task.WIDTH, cnn_task.STACK)
    return torch.randint(256, shape, dtype=torch.uint8, device=DEVICE)


def make_rollout() -> list[torch.Tensor]:
    """Images, actions, old log-probabilities, old values, advantages, targets."""
    count = cnn_task.ROLLOUT
    actions = torch.randint(cnn_task.NUM_ACTIONS, (count,), device=DEVICE)
    log_probs = torch.full((count,), -1.4, device=DEVICE)
    return [random_images(count), actions, log_probs, *torch.randn(3, count, device=DEVICE)]


def ppo_loss(net: Net, batch: list[torch.Tensor]) -> torch.Tensor:
    images, actions, old_log_probs, old_values, advantages, targets = batch
    logits, values = net(images)
    log_probs = logits.log_softmax(1)
    ratio = (log_probs.gather(1, actions[:, None])[:, 0] - old_log_probs).exp()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - cnn_task.CLIP, 1 + cnn_task.CLIP)
    policy_loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
    near = old_values + (values - old_values).clamp(-cnn_task.CLIP, cnn_task.CLIP)
    value_loss = 0.5 * torch.maximum((values - targets) ** 2, (near - targets) ** 2).mean()
    entropy = -(log_probs.exp() * log_probs).sum(1).mean()
    return policy_loss - cnn_task.ENTROPY_COEF * entropy + cnn_task.VALUE_COEF * value_loss


def run_epoch(net: Net, adam: torch.optim.Adam, rollout: list[torch.Tensor]) -> None:
    """Every image once, in a fresh order."""
    for indices in torch.randperm(cnn_task.ROLLOUT, device=DEVICE).split(cnn_task.MINIBATCH):
        loss = ppo_loss(net, [column[indices] for column in rollout])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), cnn_task.MAX_GRAD_NORM)
        adam.step()
    wait()


def wait() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


@torch.no_grad()
def act(net: Net, images: torch.Tensor) -> None:
    net(images)
    wait()


def main() -> None:
    args = cnn_task.make_parser(__doc__).parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads or torch.get_num_threads())
    net = Net().to(DEVICE, memory_format=torch.channels_last)
    adam = torch.optim.Adam(net.parameters(), cnn_task.LEARNING_RATE, eps=cnn_task.ADAM_EPS, fused=True)
    rollout, images = make_rollout(), random_images(max(1, args.batch))
    task.measure_and_report(
        lambda: act(net, images) if args.batch else run_epoch(net, adam, rollout),
        args.batch or cnn_task.ROLLOUT,
        args,
        system=f"PyTorch on {DEVICE}",
        threads=torch.get_num_threads(),
        packages=["torch", "numpy"],
    )


if __name__ == "__main__":
    main()
